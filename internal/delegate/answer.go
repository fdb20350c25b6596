package delegate

import (
	"context"
	"strings"
	"time"
	"unicode"

	"opencode-delegate/internal/digest"
	"opencode-delegate/internal/event"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/opencode"
	"opencode-delegate/internal/permission"
	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/record"
)

// followUp bounds the one question for a missing digest: it is a small thing to ask.
const followUp = 2 * time.Minute

// contract is what a digest run adds to the prompt.
func (r *run) contract() string {
	if !r.plan.Request.Digest {
		return ""
	}
	return "\n\n" + digest.Contract()
}

// answer settles the text, and the digest where one was asked for.
func (r *run) answer(ctx context.Context, tr *event.Transcript, agent, tmp string) {
	head, size, whole := r.evidence.text(tr.Answer())
	r.res.Text, r.res.TextBytes, r.res.TextTruncated = head, size, !whole
	if whole && invisible(head) && r.worst == nil {
		r.against(fault.New(fault.EmptyOutput, "the worker's answer shows nothing: %d bytes of control or blank characters", size))
	}
	if !r.plan.Request.Digest {
		return
	}
	tail := r.evidence.tail(head, whole)
	block, ok := digest.Parse(tail)
	source := digest.FromWorker
	if !ok && r.worst == nil {
		if block, ok = r.askForDigest(ctx, agent, tmp); ok {
			source = digest.Repaired
		}
	}
	if !ok {
		block = digest.Digest{Text: digest.Abridge(head, tail, size)}
		source = digest.Extracted
		if strings.TrimSpace(block.Text) == "" {
			source = digest.FromNobody
		}
	}
	r.digest, r.digestSource = block, source
}

// invisible reports whether nothing of a text can be seen once it is printed. Two blanks of Unicode count as letters
// there: the Hangul filler and the empty Braille pattern.
func invisible(text string) bool {
	return strings.TrimFunc(plain.Clean(text), func(r rune) bool {
		return !unicode.IsGraphic(r) || unicode.IsSpace(r) || r == '\u3164' || r == '\u2800' || r == '\uffa0' || r == '\u115f' || r == '\u1160'
	}) == ""
}

// askForDigest asks once, in the same session, and with read-only permissions whatever the run was granted.
func (r *run) askForDigest(ctx context.Context, agent, tmp string) (digest.Digest, bool) {
	if r.res.Session == nil {
		return digest.Digest{}, false
	}
	c := r.plan.cage
	c.profile = permission.ReadOnly
	g, err := c.close(agent, tmp, false)
	if err != nil {
		r.note("the missing digest could not be asked for: %v", err)
		return digest.Digest{}, false
	}
	a := r.plan.attempt(g, r.job.ID)
	a.Session, a.Fork, a.Files = *r.res.Session, false, nil
	a.Limits.Timeout = min(a.Limits.Timeout, followUp)
	if !leave(&a.Limits, r.res.Usage) {
		r.note("the missing digest was not asked for: the caps leave nothing for it")
		return digest.Digest{}, false
	}
	out, err := r.carryOut(ctx, a, digest.Repair())
	if err != nil {
		r.note("the missing digest could not be asked for: %v", err)
		return digest.Digest{}, false
	}
	r.attempted(out)
	if out.Fault != nil {
		r.note("the missing digest was asked for, in vain: %s", out.Fault.Reason)
		return digest.Digest{}, false
	}
	var text strings.Builder
	for _, t := range out.Transcript.Answer() {
		text.WriteString(t.Head + "\n")
	}
	return digest.Parse(text.String())
}

// render makes the digest from what we know and what the worker said; ours wins.
func (r *run) render() {
	if !r.plan.Request.Digest {
		return
	}
	res := &r.res
	facts := digest.Facts{
		Status: string(res.Status), Reason: res.Reason, Known: res.Changes.Known,
		Commands: res.Commands.Run, Failed: res.Commands.Failed,
		TextPath: r.job.Record.File(record.Text),
	}
	if v := res.Verification.Verdict; v != "none" { // no check was asked for: not worth a line
		facts.Verdict = v
	}
	for _, c := range res.Changes.Files {
		facts.Changes = append(facts.Changes, digest.Change{Path: c.Path, Kind: string(c.Kind)})
	}
	res.DigestSource = string(r.digestSource)
	res.Digest = digest.Render(facts, r.digest, r.digestSource, r.plan.Request.DigestLimit)
	res.Text = ""
}

// leave lowers the caps by what was spent, and reports whether anything is left.
func leave(l *opencode.Limits, spent *Usage) bool {
	if spent == nil {
		return true
	}
	if l.MaxTokens > 0 {
		if l.MaxTokens -= spent.Input + spent.Output + spent.Reasoning + spent.CacheRead + spent.CacheWrite; l.MaxTokens <= 0 {
			return false
		}
	}
	if l.MaxCost > 0 && spent.CostUSD != nil {
		if l.MaxCost -= *spent.CostUSD; l.MaxCost <= 0 {
			return false
		}
	}
	return true
}
