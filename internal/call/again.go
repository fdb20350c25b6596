package call

import (
	"fmt"
	"strconv"
	"time"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/permission"
)

// FlagsOf are the words that mean a request again. A request that comes from the disk goes through them, so that it is checked
// as a caller's words are. The session is left out: whoever goes on in one says so. What a review is checked by comes along; who asks something else takes it out.
func FlagsOf(req delegate.Request) Flags {
	f := Flags{
		File: req.Files, PlaceFlags: PlaceFlags{text(req.Dir)}, ModelFlags: ModelFlags{Model: text(req.Model), Variant: text(req.Variant)},
		Agent: text(req.Agent), Title: text(req.Title), Opencode: text(req.Opencode), KeepEnv: req.KeepEnv,
		GrantFlags: GrantFlags{
			Profile: text(req.Profile), AllowWrite: req.AllowWrite, AllowRead: req.AllowRead, AllowNoChanges: req.AllowNoChanges,
			AllowGitConfig: req.AllowGitConfig, NoSandbox: req.NoSandbox, TrustProject: req.TrustProject,
		},
		Digest: req.Digest, Review: req.Review,
		LimitFlags: LimitFlags{
			Timeout: duration(req.Timeout), IdleTimeout: duration(req.Idle), RetryLimit: duration(req.RetryLimit), Grace: duration(req.Grace),
			MaxCost:   text(strconv.FormatFloat(req.MaxCost, 'f', -1, 64)),
			MaxTokens: text(strconv.FormatInt(req.MaxTokens, 10)), IgnoreQuota: req.IgnoreQuota,
		},
	}
	f.IsolateFlags = IsolateFlags{Isolate: req.Isolate, WithDirty: req.WithDirty, Link: req.Link, Copy: req.Copy}
	f.CheckFlags = CheckFlags{
		Verify: req.Verify, NoPreflight: req.NoPreflight, Protect: req.Protect,
		AllowTestChanges: req.AllowTestChanges, TrustDeps: req.TrustDeps, ExpectFile: req.ExpectFile, ExpectSchema: text(req.ExpectSchema),
		AllowPath: req.AllowPath, ForbidPath: req.ForbidPath,
	}
	if req.VerifyTimeout > 0 {
		f.VerifyTimeout = duration(req.VerifyTimeout)
	}
	if req.MaxDiff > 0 {
		f.MaxDiff = text(strconv.FormatInt(req.MaxDiff, 10))
	}
	if req.BestOf > 0 {
		f.BestOf = text(strconv.Itoa(req.BestOf))
	}
	for _, rung := range req.Escalate {
		f.Escalate = append(f.Escalate, rung.Tier)
	}
	if req.DigestLimit > 0 {
		f.DigestLimit = text(strconv.Itoa(req.DigestLimit))
	}
	if p, err := permission.Parse(req.Profile); err == nil {
		if f.Write = p.Writes(); f.Write {
			f.Repair = text(strconv.Itoa(req.Repair))
		}
		if p == permission.Research {
			f.Recipe = Recipe{Name: "research", Profile: p} // whose directory is the caller's to make
			f.Dir, f.Profile = Once{}, Once{}
		}
	}
	return f
}

func text(s string) Once { return Once{Text: s, Set: s != ""} }

func duration(d delegate.Duration) Once {
	return text(fmt.Sprintf("%ds", int64(time.Duration(d)/time.Second)))
}
