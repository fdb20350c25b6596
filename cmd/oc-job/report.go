package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/ledger"
	"opencode-delegate/internal/plain"
)

type reportVerb struct {
	Since call.Once `placeholder:"TIME" help:"Only what was spent since then: 12h or 30d ago, or a day or time such as 2026-11-29 or 2026-11-29T19:30:00Z."`
	By    call.Once `placeholder:"WHAT" help:"A row for each tier, model, day or repo (default tier)."`
	JSON  bool      `name:"json" help:"The same as a JSON object."`
	CSV   bool      `name:"csv" help:"The rows as CSV, with a head."`
}

func (v *reportVerb) run(a *cli.App) int {
	by, since, problems := v.question(a)
	if len(problems) > 0 {
		return refuseAll(a, problems)
	}
	store, err := a.Store()
	if err != nil {
		return refuse(a, err)
	}
	rep, err := store.Ledger().Report(since, by)
	if err != nil {
		return refuse(a, err)
	}
	s := sheet{app: a, Since: moment(&since), By: by, Rows: []rated{}, Damaged: rep.Damaged, Later: rep.Later, Unread: append([]string{}, rep.Unread...)}
	for _, r := range rep.Rows {
		s.Rows = append(s.Rows, rateOf(plain.Line(a.Secrets.String(r.Key), cellLimit), r.Totals))
	}
	s.Total = rateOf("", rep.Total)
	switch {
	case v.JSON:
		return printJSON(a, s)
	case v.CSV:
		err = s.csv(a.Stdout)
	default:
		err = s.print(a.Stdout, screenOf(a))
	}
	if err != nil {
		return refuse(a, fault.New(fault.RunFailed, "stdout: %w", err))
	}
	s.doubts()
	return 0
}

// question is what the report is to be of.
func (v *reportVerb) question(a *cli.App) (by ledger.By, since time.Time, problems []string) {
	by = ledger.ByTier
	if v.By.Set {
		if by = ledger.By(v.By.Text); !slices.Contains(ledger.Bys(), by) {
			problems = append(problems, fmt.Sprintf("flag --by: %.40q is nothing that a report can be made by; one of tier, model, day, repo", v.By.Text))
		}
	}
	if v.Since.Set {
		var err error
		if since, err = parseSince(v.Since.Text, a.Now()); err != nil {
			problems = append(problems, "flag --since: "+err.Error())
		}
	}
	if v.JSON && v.CSV {
		problems = append(problems, "--json and --csv are different forms; give one of them")
	}
	return by, since, problems
}

// A sheet is a report as it is shown. What cannot be known is null.
type sheet struct {
	app *cli.App

	Since *time.Time `json:"since"` // null: all
	By    ledger.By  `json:"by"`
	Rows  []rated    `json:"rows"`
	Total rated      `json:"total"`

	Damaged int64    `json:"damaged"`
	Later   int64    `json:"later"`
	Unread  []string `json:"unread"`
}

// A rated row is one with what follows from its sums.
type rated struct {
	Key string `json:"key"` // empty: of no tier, model or repository; of the total
	ledger.Totals
	SuccessRate     *float64    `json:"success_rate"`
	CostPerVerified *ledger.USD `json:"cost_per_verified_usd"`
}

func rateOf(key string, t ledger.Totals) rated {
	r := rated{Key: key, Totals: t}
	if rate, ok := t.SuccessRate(); ok {
		r.SuccessRate = &rate
	}
	if cost, ok := t.CostPerVerified(); ok {
		r.CostPerVerified = &cost
	}
	return r
}

// missing is how many entries are not wholly in the cost.
func (r rated) missing() int64 { return r.Unpriced + r.Partial }

// cells are a row of the table.
func (r rated) cells(key string) []string {
	rate, per := "-", "-"
	if r.SuccessRate != nil {
		rate = fmt.Sprintf("%.0f%%", *r.SuccessRate*100)
	}
	if r.CostPerVerified != nil {
		per = usd(*r.CostPerVerified, r.missing())
	}
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	return []string{
		key, number(r.Runs), number(r.Tries), rate, number(r.Pass), number(r.Fail), number(r.CouldNotRun), usd(r.Cost, r.missing()), per,
		short(r.Returned), short(r.Read), short(r.Written),
	}
}

// print prints a table and a plot of the costs.
func (s sheet) print(out io.Writer, on screen) error {
	if len(s.Rows) == 0 {
		if s.Since != nil {
			s.app.Say("nothing was spent since then")
		} else {
			s.app.Say("nothing was spent so far")
		}
		return nil
	}
	g := grid{screen: on, head: []string{strings.ToUpper(string(s.By)), "RUNS", "TRIES", "OK", "PASS", "FAIL", "NOT RUN", "COST", "PER PASS", "RETURNED", "READ", "WRITTEN"}, align: "lrrrrrrrrrrr"}
	for _, r := range s.Rows {
		g.rows = append(g.rows, r.cells(known(r.Key)))
	}
	g.total = s.Total.cells("total")
	// What says nothing takes no room.
	if s.Total.Tries == s.Total.Runs {
		g = g.without("TRIES")
	}
	if s.Total.CouldNotRun == 0 {
		g = g.without("NOT RUN")
	}
	if err := g.print(out); err != nil {
		return err
	}
	return s.plot(out, on)
}

// plotRows bounds the plot: of days the last, else the dearest.
const plotRows = 30

// plot draws what each row has cost; where no cost is known, how many tokens it took.
func (s sheet) plot(out io.Writer, on screen) error {
	what, value := "cost", func(r rated) float64 { return r.Cost.Float() }
	if s.Total.Cost == 0 {
		what, value = "tokens", func(r rated) float64 {
			return float64(r.Input) + float64(r.Output) + float64(r.Reasoning) + float64(r.CacheRead) + float64(r.CacheWrite)
		}
	}
	rows := slices.Clone(s.Rows)
	if s.By != ledger.ByDay {
		slices.SortStableFunc(rows, func(a, b rated) int { return cmp.Compare(value(b), value(a)) })
		rows = rows[:min(len(rows), plotRows)]
	}
	rows = rows[max(0, len(rows)-plotRows):]
	most, label := 0.0, 0
	for _, r := range rows {
		most, label = max(most, value(r)), max(label, columns(known(r.Key)))
	}
	if most == 0 {
		return nil
	}
	label = min(label, max(on.width/3, 1))
	if _, err := fmt.Fprintf(out, "\n%s\n", on.style(bold, fit(what+" by "+string(s.By), on.width))); err != nil {
		return err
	}
	for _, r := range rows {
		key := fitEnd(known(r.Key), label)
		number := short(int64(value(r)))
		if what == "cost" {
			number = usd(r.Cost, r.missing())
		}
		text := key + strings.Repeat(" ", label-columns(key)) + gap
		room := on.width - columns(text) - len(gap) - 12
		drawn := bar(value(r), most, min(room, 60))
		row := text + drawn + gap + number
		if columns(row) > on.width {
			row = strings.TrimRight(fit(row, on.width), " ")
		} else {
			row = text + on.style(cyan, drawn) + gap + number
		}
		if _, err := fmt.Fprintln(out, row); err != nil {
			return err
		}
	}
	return nil
}

// doubts says what the sums leave out.
func (s sheet) doubts() {
	a, t := s.app, s.Total
	if t.Unpriced > 0 {
		a.Say("note: of %d of %d entries no price is known, so that more was spent", t.Unpriced, t.Entries)
	}
	if t.Partial > 0 {
		a.Say("note: %d of %d entries leave out what a subagent or a step that was cut off has spent", t.Partial, t.Entries)
	}
	if t.Uncounted > 0 {
		a.Say("note: of %d of %d entries not all tokens are known: no step of theirs ended", t.Uncounted, t.Entries)
	}
	if s.Damaged > 0 {
		a.Say("note: %d lines of the ledger are damaged and not in the sums", s.Damaged)
	}
	if s.Later > 0 {
		a.Say("note: %d lines of the ledger are a later version's and not in the sums", s.Later)
	}
	for _, name := range s.Unread {
		a.Say("note: %s of the ledger could not be read and is not in the sums", name)
	}
}

// csv prints the rows for another program. A cell that a spreadsheet would take for a formula begins with an apostrophe.
func (s sheet) csv(out io.Writer) error {
	w := csv.NewWriter(out)
	w.Write([]string{
		string(s.By), "runs", "tries", "succeeded", "verified", "pass", "fail", "could_not_run", "success_rate", "attempts", "cost_usd", "unpriced", "partial", "cost_per_verified_usd",
		"input", "output", "reasoning", "cache_read", "cache_write", "chars_returned", "chars_read", "chars_written",
	})
	for _, r := range s.Rows {
		rate, per := "", ""
		if r.SuccessRate != nil {
			rate = strconv.FormatFloat(*r.SuccessRate, 'f', -1, 64)
		}
		if r.CostPerVerified != nil {
			per = r.CostPerVerified.String()
		}
		number := func(n int64) string { return strconv.FormatInt(n, 10) }
		w.Write([]string{
			harmless(r.Key), number(r.Runs), number(r.Tries), number(r.Succeeded), number(r.Verified), number(r.Pass), number(r.Fail), number(r.CouldNotRun), rate, number(r.Attempts),
			r.Cost.String(), number(r.Unpriced), number(r.Partial), per, number(r.Input), number(r.Output), number(r.Reasoning), number(r.CacheRead), number(r.CacheWrite),
			number(r.Returned), number(r.Read), number(r.Written),
		})
	}
	w.Flush()
	return w.Error()
}

// harmless is a cell that no spreadsheet reckons: OWASP, CSV injection.
func harmless(cell string) string {
	if strings.ContainsRune("=+-@\t\r\n＝＋－＠", []rune(cell + " ")[0]) {
		return "'" + cell
	}
	return cell
}

// short is a count in the unit that says enough.
func short(n int64) string {
	f := float64(n)
	for _, unit := range []string{"", "k", "M", "G", "T"} {
		switch {
		case unit == "" && f < 1000:
			return strconv.FormatInt(n, 10)
		case f < 9.95:
			return fmt.Sprintf("%.1f%s", f, unit)
		case f < 999.5:
			return fmt.Sprintf("%.0f%s", f, unit)
		}
		f /= 1000
	}
	return fmt.Sprintf("%.0fP", f)
}
