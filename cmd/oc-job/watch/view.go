package watch

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"opencode-delegate/internal/plain"
)

// Select Graphic Rendition; the library leaves the colours out where there are none.
const (
	plainly = "\x1b[m"
	bold    = "\x1b[1m"
	faint   = "\x1b[2m"
	reverse = "\x1b[7m"
	red     = "\x1b[31m"
	green   = "\x1b[32m"
	yellow  = "\x1b[33m"
	cyan    = "\x1b[36m"
)

// stateStyle holds the colours of the states; one that is not listed has none.
var stateStyle = map[string]string{
	"queued": faint, "waiting": faint, "running": cyan, "succeeded": green,
	"failed": red, "timeout": red, "lost": red,
	"cancelled": yellow, "interrupted": yellow, "skipped": yellow,
}

// body is the number of rows between the head and the last line, which both go where there is no room for them.
func (m *model) body() int {
	switch {
	case m.height >= 3:
		return m.height - 2
	case m.height == 2:
		return 1
	}
	return m.height
}

func (m *model) View() tea.View {
	v := tea.NewView(strings.Join(m.lines(), "\n"))
	v.AltScreen = true
	return v
}

// lines are as many as the terminal has, each as wide as the terminal.
func (m *model) lines() []string {
	if m.width <= 0 || m.height <= 0 {
		return nil
	}
	head, body := m.tableLines()
	if m.log != nil {
		head, body = m.logLines()
	}
	for len(body) < m.body() {
		body = append(body, "")
	}
	if m.height >= 3 {
		body = append([]string{head}, body...)
	}
	if m.height >= 2 {
		body = append(body, m.last())
	}
	return body
}

func (m *model) tableLines() (head string, body []string) {
	widths := m.table.widths(m.width)
	head = bold + line(m.measure, widths, m.width, "", func(i int) string { return columns[i].title }) + plainly
	for i := m.table.top; i < min(m.table.top+m.body(), len(m.table.rows)); i++ {
		row := m.table.rows[i]
		mark := ""
		if i == m.table.at {
			mark = ">"
		}
		text := line(m.measure, widths, m.width, mark, func(i int) string { return columns[i].text(row) })
		style := stateStyle[row.State]
		if i == m.table.at {
			style += reverse
		}
		if style != "" {
			text = style + text + plainly
		}
		body = append(body, text)
	}
	return head, body
}

func (m *model) logLines() (head string, body []string) {
	r := m.log.row
	title := plain.Line(strings.Join([]string{r.ID, r.State, r.Tier, r.Age, r.Cost, task(r)}, " "), longestCell)
	return bold + pad(m.measure, title, m.width, false) + plainly, m.log.window()
}

// last is the line at the bottom: what must be answered, what happened, what is wrong, or else the keys.
func (m *model) last() string {
	text, style := m.message()
	place := m.place()
	if room := m.width - gap - width(m.measure, place); place != "" && room > m.width/2 {
		return style + pad(m.measure, text, room, false) + plainly + faint + strings.Repeat(" ", gap) + place + plainly
	}
	return style + pad(m.measure, text, m.width, false) + plainly
}

func (m *model) message() (text, style string) {
	clean := func(s string) string { return plain.Line(s, longestCell) }
	switch {
	case m.question != nil:
		about := m.question.ID
		if t := task(*m.question); t != "" {
			about += " (" + t + ")"
		}
		return "cancel? y/n  " + clean(about), bold + yellow
	case m.note != "":
		return clean(m.note), bold
	case m.leaving:
		return "leaving as soon as the job has ended; q or ctrl-c leaves at once", bold
	case len(m.ending) > 0:
		return clean("cancelling " + strings.Join(m.ending, ", ")), bold
	case m.log != nil && m.log.trouble != "":
		return clean(m.log.trouble), red
	case m.trouble != "":
		return clean(m.trouble), red
	case !m.asked:
		return "looking for jobs", faint
	case m.log != nil:
		return "esc back  ↑↓ PgUp PgDn scroll  c cancel  q quit", faint
	case len(m.table.rows) == 0:
		return "no jobs  q quit", faint
	}
	return "↑↓ choose  enter log  c cancel  q quit", faint
}

// place says where in the whole the window is.
func (m *model) place() string {
	switch {
	case m.log == nil && len(m.table.rows) > 0:
		return fmt.Sprintf("%d/%d", m.table.at+1, len(m.table.rows))
	case m.log == nil:
		return ""
	case !m.log.follows:
		return fmt.Sprintf("%d%%", 100*min(m.log.top+m.body(), m.log.rows)/max(m.log.rows, 1))
	case m.log.ended:
		return "end of log"
	}
	return "live"
}
