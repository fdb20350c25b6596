package watch

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// A model is all that the view knows. It is changed by Update alone, which never waits: what takes time is a command.
type model struct {
	do            commands
	width, height int // of the terminal; 0 until it is known
	// measure is how the terminal counts the columns of a text; the renderer goes by the same.
	measure ansi.Method

	table    table
	asked    bool   // once Jobs has answered
	trouble  string // what Jobs failed with last
	loading  bool
	again    bool // ask Jobs once more as soon as it has answered
	ticks    int  // the number of the last tick that was ordered
	log      *log // nil while the table is shown
	question *Row // the job that y would cancel
	note     string
	// ending are the jobs that are being cancelled. To leave before they have ended could leave them half dead.
	ending  []string
	leaving bool
}

func newModel(do commands) *model { return &model{do: do} }

func (m *model) Init() tea.Cmd {
	m.loading = true
	return m.do.jobs
}

func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.resize(msg.Width, msg.Height)
	case tea.ModeReportMsg:
		if msg.Mode == ansi.ModeUnicodeCore && (msg.Value.IsSet() || msg.Value.IsReset() || msg.Value.IsPermanentlySet()) {
			m.measure = ansi.GraphemeWidth
			m.resize(m.width, m.height)
		}
	case tea.KeyPressMsg:
		return m, m.key(msg.String())
	case jobsMsg:
		return m, m.jobs(msg)
	case tickMsg:
		if msg.n == m.ticks {
			return m, m.refresh()
		}
	case cancelMsg:
		return m, m.cancelled(msg)
	case logMsg:
		if m.log == nil || msg.from != m.log.source.tail {
			return m, nil
		}
		m.log.add(msg)
		if !msg.ended {
			return m, msg.from.next
		}
	}
	return m, nil
}

func (m *model) resize(width, height int) {
	m.width, m.height = width, height
	m.table.fit(m.measure)
	m.table.show(m.body())
	if m.log != nil {
		m.log.resize(m.measure, m.width, m.body())
	}
}

// refresh asks for the jobs, now or as soon as the question under way is answered.
func (m *model) refresh() tea.Cmd {
	if m.loading {
		m.again = true
		return nil
	}
	m.loading = true
	return m.do.jobs
}

func (m *model) jobs(msg jobsMsg) tea.Cmd {
	m.loading, m.asked = false, true
	if msg.err != nil {
		m.trouble = "cannot list the jobs: " + msg.err.Error()
	} else {
		m.trouble = ""
		m.table.set(msg.rows)
		m.table.fit(m.measure)
		m.table.show(m.body())
		if m.log != nil {
			m.log.row = m.table.find(m.log.row)
		}
	}
	if m.again {
		m.again = false
		return m.refresh()
	}
	m.ticks++
	n := m.ticks
	return tea.Tick(pause(msg.took), func(time.Time) tea.Msg { return tickMsg{n} })
}

func (m *model) cancelled(msg cancelMsg) tea.Cmd {
	if i := slices.Index(m.ending, msg.id); i >= 0 {
		m.ending = slices.Delete(m.ending, i, i+1)
	}
	if msg.err != nil {
		m.note, m.leaving = "cannot cancel "+msg.id+": "+msg.err.Error(), false
	} else {
		m.note = "job " + msg.id + " has ended"
	}
	if m.leaving && len(m.ending) == 0 {
		return tea.Quit
	}
	return m.refresh()
}

// key does what a key stands for. A note is there until the next key.
func (m *model) key(key string) tea.Cmd {
	if key == "ctrl+c" {
		return tea.Quit
	}
	m.note = ""
	if m.question != nil {
		return m.answer(key)
	}
	switch key {
	case "q":
		if len(m.ending) == 0 || m.leaving {
			return tea.Quit
		}
		m.leaving = true
		return nil
	case "c":
		if row, ok := m.current(); ok {
			m.question = &row
		}
		return nil
	}
	if m.log != nil {
		m.logKey(key)
		return nil
	}
	switch key {
	case "enter", "right", "l":
		return m.open()
	}
	m.table.move(steps(key, m.body()))
	m.table.show(m.body())
	return nil
}

// current is the job that is shown or selected.
func (m *model) current() (Row, bool) {
	if m.log != nil {
		return m.log.row, true
	}
	return m.table.selected()
}

func (m *model) answer(key string) tea.Cmd {
	id := m.question.ID
	m.question = nil
	if key != "y" && key != "Y" {
		m.note = "job " + id + " is left alone"
		return nil
	}
	if !slices.Contains(m.ending, id) {
		m.ending = append(m.ending, id)
		return m.do.cancel(id)
	}
	return nil
}

func (m *model) open() tea.Cmd {
	row, ok := m.table.selected()
	if !ok {
		return nil
	}
	m.log = newLog(row, m.do.follow(row.ID))
	m.log.resize(m.measure, m.width, m.body())
	return tea.Batch(m.log.source.read, m.log.source.tail.next)
}

func (m *model) logKey(key string) {
	switch key {
	case "esc", "left", "h", "backspace":
		m.log.source.close()
		m.log = nil
	default:
		m.log.scroll(steps(key, m.body()))
	}
}

// all is more than there are rows.
const all = 1 << 30

// steps is by how many rows a key moves in a window of so many.
func steps(key string, body int) int {
	switch key {
	case "up", "k":
		return -1
	case "down", "j":
		return 1
	case "pgup":
		return -max(body-1, 1)
	case "pgdown", "space":
		return max(body-1, 1)
	case "home", "g":
		return -all
	case "end", "G":
		return all
	}
	return 0
}
