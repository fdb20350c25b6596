package watch

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"opencode-delegate/internal/plain"
)

const (
	// interval is the time between the end of one call of [Source.Jobs] and the begin of the next.
	interval = time.Second
	// share of the time is spent in Jobs at most, as 1/share: a slow store is asked less often.
	share = 10
)

// What commands answer with.
type (
	jobsMsg struct {
		rows []Row
		err  error
		took time.Duration
	}
	// tickMsg says that the jobs are to be asked for again, unless a later tick was ordered meanwhile.
	tickMsg   struct{ n int }
	cancelMsg struct {
		id  string
		err error
	}
)

// commands are what the model has done outside of it, beside the view. It calls nothing else that could take time.
type commands struct {
	jobs   tea.Cmd                 // answers jobsMsg
	cancel func(id string) tea.Cmd // answers cancelMsg
	follow func(id string) follower
}

// A follower is the log of one job being read.
type follower struct {
	read  tea.Cmd // fills the tail, until the log ends or close is called
	tail  *tail
	close context.CancelFunc
}

func newCommands(ctx context.Context, src Source) commands {
	return commands{
		jobs: func() tea.Msg {
			start := time.Now()
			rows, err := src.Jobs()
			return jobsMsg{rows, err, time.Since(start)}
		},
		cancel: func(id string) tea.Cmd {
			return func() tea.Msg { return cancelMsg{id, src.Cancel(ctx, id)} }
		},
		follow: func(id string) follower {
			ctx, cancel := context.WithCancel(ctx)
			t := newTail(ctx.Done())
			return follower{tail: t, close: cancel, read: func() tea.Msg {
				w := plain.NewWriter(t)
				err := src.Log(ctx, id, w)
				w.Close() // its error is that of a write, which the source has seen
				t.end(err)
				return nil
			}}
		},
	}
}

// pause is the time until the next question to a source that took so long for the last.
func pause(took time.Duration) time.Duration {
	return max(interval, min(took*share, 10*interval))
}
