package ledger

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// USD is an amount in billionths of a dollar. Results round a cost to nine decimals, so that none is changed here, and sums of
// integers are the same in whatever order and through whatever roll-up they are made; those of fractions are not. An int64 holds
// nine thousand million dollars.
type USD int64

// Dollar is one dollar.
const Dollar USD = 1e9

// entryLimit is the most that one entry may have cost. Below it a float64 names every billionth.
const entryLimit = 1_000_000 * Dollar

// FromFloat is an amount in dollars; false for what cannot be the cost of a run: less than nothing, more than a million, no number.
func FromFloat(f float64) (USD, bool) {
	if !(f >= 0) || f > entryLimit.Float() {
		return 0, false
	}
	return USD(math.Round(f * float64(Dollar))), true
}

// Float is the amount in dollars.
func (u USD) Float() float64 { return float64(u) / float64(Dollar) }

// String is the amount in dollars as a decimal number without needless zeros.
func (u USD) String() string {
	sign, n := "", uint64(u)
	if u < 0 {
		sign, n = "-", -n
	}
	s := strconv.FormatUint(n/uint64(Dollar), 10)
	if rest := n % uint64(Dollar); rest > 0 {
		s += "." + strings.TrimRight(fmt.Sprintf("%09d", rest), "0")
	}
	return sign + s
}

// MarshalJSON is a number of dollars.
func (u USD) MarshalJSON() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalJSON reads what an entry may have cost, see [FromFloat].
func (u *USD) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return fmt.Errorf("%.40q is no amount in dollars", b)
	}
	v, ok := FromFloat(f)
	if !ok {
		return fmt.Errorf("%.40q cannot be the cost of a run; it lies between 0 and a million dollars", b)
	}
	*u = v
	return nil
}

// total adds two numbers that are not negative, and stays at the largest rather than come out negative.
func total(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
