package delegate

import (
	"context"
	"strings"
	"time"
	"unicode"

	"opencode-delegate/internal/digest"
	"opencode-delegate/internal/event"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/permission"
	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/record"
)

// followUp bounds the one question for a missing digest: it is a small thing to ask.
const followUp = 2 * time.Minute

// contract is what a digest run adds to the prompt.
func (t *try) contract() string {
	if !t.run.plan.Request.Digest {
		return ""
	}
	return "\n\n" + digest.Contract()
}

// answer settles the text of the last attempt, and returns its end, where a digest stands.
func (t *try) answer(tr *event.Transcript) (tail string) {
	head, size, whole := t.evidence.text(tr.Answer())
	t.res.Text, t.res.TextBytes, t.res.TextTruncated = head, size, !whole
	if whole && invisible(head) && t.worst == nil {
		t.against(fault.New(fault.EmptyOutput, "the worker's answer shows nothing: %d bytes of control or blank characters", size))
	}
	return t.evidence.tail(head, whole)
}

// settleDigest finds the digest at the end of the text, where one was asked for.
func (t *try) settleDigest(ctx context.Context, tail string) {
	if !t.run.plan.Request.Digest {
		return
	}
	block, ok := digest.Parse(tail)
	source := digest.FromWorker
	if !ok && (t.worst == nil || t.worst.Kind == fault.VerifyFailed) {
		if block, ok = t.askForDigest(ctx); ok {
			source = digest.Repaired
		}
	}
	if !ok {
		block = digest.Digest{Text: digest.Abridge(t.res.Text, tail, t.res.TextBytes)}
		source = digest.Extracted
		if strings.TrimSpace(block.Text) == "" {
			source = digest.FromNobody
		}
	}
	t.digest, t.digestSource = block, source
}

// invisible reports whether nothing of a text can be seen once it is printed. Two blanks of Unicode count as letters
// there: the Hangul filler and the empty Braille pattern.
func invisible(text string) bool {
	return strings.TrimFunc(plain.Clean(text), func(r rune) bool {
		return !unicode.IsGraphic(r) || unicode.IsSpace(r) || r == '\u3164' || r == '\u2800' || r == '\uffa0' || r == '\u115f' || r == '\u1160'
	}) == ""
}

// askForDigest asks once for what is missing.
func (t *try) askForDigest(ctx context.Context) (digest.Digest, bool) {
	text, ok := t.askFor(ctx, "digest", digest.Repair())
	if !ok {
		return digest.Digest{}, false
	}
	return digest.Parse(text)
}

// askFor asks once, in the same session, and with read-only permissions whatever the run was granted.
func (t *try) askFor(ctx context.Context, what, question string) (answer string, ok bool) {
	if t.res.Session == nil {
		return "", false
	}
	if f := t.run.spentUp(); f != nil {
		t.note("the missing %s was not asked for: the caps leave nothing for it", what)
		return "", false
	}
	c := t.cage
	c.profile = permission.ReadOnly
	g, err := c.close(t.agent, t.tmp, false)
	if err != nil {
		t.note("the missing %s could not be asked for: %v", what, err)
		return "", false
	}
	a := t.attempt(g)
	a.Session, a.Fork, a.Files = *t.res.Session, false, nil
	a.Limits.Timeout = min(a.Limits.Timeout, followUp)
	out, err := t.carry(ctx, RoleDigest, a, question)
	if err != nil {
		t.note("the missing %s could not be asked for: %v", what, err)
		return "", false
	}
	if out.Fault != nil {
		t.note("the missing %s was asked for, in vain: %s", what, out.Fault.Reason)
		return "", false
	}
	var text strings.Builder
	for _, b := range out.Transcript.Answer() {
		text.WriteString(b.Head + "\n")
	}
	return text.String(), true
}

// render makes the digest from what we know and what the worker said; ours wins.
func (t *try) render() {
	if !t.run.plan.Request.Digest {
		return
	}
	res := &t.res
	if t.lists > 0 {
		t.renderReview()
		return
	}
	facts := digest.Facts{
		Status: string(res.Status), Reason: res.Reason, Known: res.Changes.Known,
		Commands: res.Commands.Run, Failed: res.Commands.Failed,
		TextPath: t.run.job.Record.File(record.Text),
	}
	if v := res.Verification.Verdict; v != "none" { // no check was asked for: not worth a line
		facts.Verdict = v
	}
	for _, c := range res.Verification.Checks {
		if c.Verdict == res.Verification.Verdict && c.Excerpt != "" {
			facts.Evidence = c.Excerpt
			break
		}
	}
	if res.Isolation != nil {
		facts.Next = t.next()
	}
	for _, c := range res.Changes.Files {
		facts.Changes = append(facts.Changes, digest.Change{Path: c.Path, Kind: string(c.Kind)})
	}
	res.DigestSource = string(t.digestSource)
	res.Digest = digest.Render(facts, t.digest, t.digestSource, t.run.plan.Request.DigestLimit)
	res.Text = ""
}
