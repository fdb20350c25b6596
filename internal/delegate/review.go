package delegate

import (
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/review"
	"opencode-delegate/internal/sandbox"
)

// Nothing is the result of a review for which nothing is different. It has no id and no record: nothing was started, and nothing spent.
func Nothing(req Request, host Host, why string) Result {
	now := host.Now()
	res := (&Plan{Request: req, host: host, cage: cage{request: req, support: sandbox.Detect(host.getenv)}}).blank(Job{}, now)
	res.Status, res.Exit, res.Reason = fault.OK, fault.OK.Exit(), reason(why)
	res.EndedAt = res.StartedAt
	res.Changes.Reason = "nothing was started"
	found := review.Of(*req.Review)
	res.Review = &found
	res.DigestSource = "none"
	res.Digest = found.Table(review.Facts{Status: string(res.Status), Reason: res.Reason}, req.DigestLimit)
	return res
}
