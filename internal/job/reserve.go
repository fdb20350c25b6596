package job

import (
	"fmt"
	"os"
	"slices"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/record"
)

// reserveSize is room for a result without its texts and for the last state, each beside the file that it replaces.
const reserveSize = 64 << 10

// reserve takes room on the disk for the end of a background job: its verdict has no other place to go when the disk is full by then.
// The bytes are written, since a promise of the file system's (a sparse file) would not hold.
func (j *Job) reserve() error { return j.Record.WriteExact(record.Reserve, make([]byte, reserveSize)) }

// unreserve gives the room back.
func unreserve(rec record.Dir) { os.Remove(rec.File(record.Reserve)) }

// writeResult writes the result of a job that has ended; on a full disk without what is long, into the room that was reserved.
func writeResult(rec record.Dir, res delegate.Result) error {
	err := rec.WriteLast(record.Result, res)
	reserved := exists(rec.File(record.Reserve))
	unreserve(rec)
	if !full(err) || !reserved {
		return err
	}
	return rec.WriteLast(record.Result, short(res, err))
}

// shortText is how much of each text a result keeps when there is no room, and shortList how many elements of a list.
const (
	shortText     = 8 << 10
	shortList     = 20
	shortFindings = 8 // of a review, each of which may have some kilobytes
)

// short is a result that needs little room.
func short(res delegate.Result, why error) delegate.Result {
	cut := func(s string) string {
		if len(s) > shortText {
			return s[:shortText]
		}
		return s
	}
	res.TextTruncated = res.TextTruncated || len(res.Text) > shortText
	res.Text, res.Digest = cut(res.Text), cut(res.Digest)
	res.Changes.Files = res.Changes.Files[:min(len(res.Changes.Files), shortList)]
	if res.Review != nil {
		r := *res.Review
		r.Findings, r.NotReviewed = r.Findings[:min(len(r.Findings), shortFindings)], r.NotReviewed[:min(len(r.NotReviewed), shortFindings)]
		res.Review = &r
	}
	res.Survivors = res.Survivors[:min(len(res.Survivors), shortList)]
	res.Violations = res.Violations[:min(len(res.Violations), shortList)]
	res.Notes = append(slices.Clone(res.Notes[:min(len(res.Notes), shortList)]), fmt.Sprintf("the result is cut: %v", why))
	return res
}
