package job

import (
	"crypto/rand"
	"fmt"
	"time"

	"opencode-delegate/internal/lazyregexp"
)

// alphabet is base 32 in the order of its bytes, so that ids sort by time.
const alphabet = "0123456789abcdefghijklmnopqrstuv"

// NewID returns an id that sorts by its time to the millisecond: date, time (UTC), two digits of base 32 for the
// millisecond and four random ones, such as 20261129-193015-0k7u2m.
func NewID(now time.Time) string {
	now = now.UTC()
	ms := now.Nanosecond() / int(time.Millisecond)
	var r [4]byte
	rand.Read(r[:]) // never fails
	for i := range r {
		r[i] = alphabet[r[i]&31]
	}
	return now.Format("20060102-150405-") + string([]byte{alphabet[ms>>5], alphabet[ms&31]}) + string(r[:])
}

var idForm = lazyregexp.New(`^[0-9]{8}-[0-9]{6}-[0-9a-v]{6}$`)

// CheckID reports whether id has the form of NewID. It must be asked before an id becomes part of a path.
func CheckID(id string) error {
	if !idForm().MatchString(id) {
		return fmt.Errorf("bad job id %.40q; an id looks like 20261129-193015-0k7u2m", id)
	}
	return nil
}
