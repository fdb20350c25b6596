package opencode

import (
	"strings"
	"time"

	"opencode-delegate/internal/fault"
)

// line takes one line of stderr.
func (w *watch) line(l LogLine, now time.Time) {
	switch l.Kind {
	case LogCreated:
		w.progress = now
		switch {
		case l.Parent != "":
			if len(w.subagents) < sessionLimit {
				w.subagents[l.Session] = true
			}
		case w.session == "":
			w.session = l.Session
		}
		w.version = l.Version
	case LogStream:
		if l.Small {
			return
		}
		w.calls++
		w.call(l, now)
		if !l.Subagent && !w.subagents[l.Session] {
			w.model, w.agent = l.Provider+"/"+l.Model, l.Agent
		}
		if l.At.After(w.lastEvent) {
			w.doneAt = time.Time{} // it works on
		}
		return
	case LogStreamError:
		if !l.Small {
			w.failure(l, now)
		}
		return
	case LogProcessError:
		if w.lastFailure == nil && l.Error != "" {
			ev := FromLog(l, now)
			ev.Model = w.model
			w.lastFailure = &ev
		}
		if !w.quotaAt.IsZero() {
			w.quotaAt = now.Add(linger)
		}
	case LogFailed:
		ev := FromLog(l, now)
		w.serverError = &ev
	case LogEvaluated, LogAsking:
		w.progress = now
	case LogLoop:
		// A further step of any session, a subagent's too, means that its call has succeeded.
		delete(w.calling, l.Session)
		if l.Step > 0 {
			w.moved(l.At, now)
		}
		w.loops = true
		w.progress = now
	case LogExitingLoop:
		w.progress = now
	case LogRejected:
		w.progress = now
		w.rejected = oneLine(strings.TrimSpace(l.Permission+" "+l.Pattern), 160)
		w.doneAt = time.Time{}
	case LogAgentFallback:
		w.stop(halt{fault: fault.New(fault.RunFailed, "there is no agent %q to run: opencode would take its default agent, with other permissions", oneLine(l.Agent, 80))})
	case LogFatal:
		if w.fatal == "" {
			w.fatal = oneLine(l.Error, reasonLimit)
		}
	case LogDatabase:
		w.locked = true
		w.fatal = oneLine(l.Error, reasonLimit)
	case LogOther:
		if text := oneLine(l.Error, reasonLimit); text != "" {
			w.lastText = text
			if strings.HasPrefix(w.fatal, "Unexpected error") {
				w.fatal = text // the reason stands two lines below
			}
		}
		return
	default:
		// Startup is progress until the model is called; later, housekeeping says nothing.
		if w.calls == 0 {
			w.progress = now
		}
		return
	}
	w.settle(now)
}

// call takes the beginning of a model call. A second one within a step means that the first has failed, also where no
// line says so: a connection that breaks in the middle of a reply leaves none.
func (w *watch) call(l LogLine, now time.Time) {
	again := w.calling[l.Session]
	if len(w.calling) < sessionLimit {
		w.calling[l.Session] = true
	}
	// Where no line tells of steps, the next step would look the same.
	broke := again && w.loops && l.Agent != "compaction"
	switch {
	case broke && w.failing.IsZero():
		w.failing, w.failedCalls = now, 1
		w.lastFailure = &Evidence{Message: brokenReply, At: l.At, Model: l.Provider + "/" + l.Model}
		f, _ := Classify(*w.lastFailure)
		w.retries(*w.lastFailure, f)
	case broke && w.lastFailure != nil && w.lastFailure.Message == brokenReply:
		w.failedCalls++
	case w.failing.IsZero():
		w.progress = now
	}
}

// brokenReply is the message of a failure that opencode retries without a line for it.
const brokenReply = "connection closed before the reply was finished"

// failure takes a model call that failed and that opencode may retry without a word.
func (w *watch) failure(l LogLine, now time.Time) {
	ev := FromLog(l, now)
	w.lastFailure = &ev
	w.failedCalls++
	if w.failing.IsZero() {
		w.failing = now
	}
	f, _ := Classify(ev)
	w.retries(ev, f)
	if f.Kind == fault.QuotaExhausted && w.quotaAt.IsZero() {
		w.quotaAt = now.Add(quotaWait)
	}
}
