package opencode

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"opencode-delegate/internal/event"
	"opencode-delegate/internal/lazyregexp"
)

// A LogKind is what a line on opencode's stderr tells us.
type LogKind int

// The kinds of lines. Everything that is not known is LogOther: other versions, plugins, crash reports.
const (
	LogOther         LogKind = iota
	LogInfo                  // a line of opencode's own log that has no meaning for us
	LogCreated               // a session exists: Session, Parent (a subagent's), Directory, Version
	LogStream                // a model call begins: Provider, Model, Agent, Session, Small, Subagent
	LogStreamError           // a model call failed, perhaps to be retried silently: Error and what LogStream has
	LogFailed                // a request to opencode's own server failed: Error, Ref
	LogProcessError          // a turn ended with an error: Error, Session
	LogEvaluated             // a permission was decided by rule: Permission, Pattern, Action
	LogAsking                // a permission is asked for: Permission, Pattern
	LogRejected              // `permission requested: …; auto-rejecting`: Permission, Pattern
	LogAgentFallback         // `agent "x" not found. Falling back…`: Agent
	LogLoop                  // a step begins: Session, Step
	LogExitingLoop           // a session has finished its turn: Session
	LogFatal                 // `Error: …` printed before or instead of a run: Error
	LogDatabase              // the database is locked by another opencode: Error
)

// A LogLine is one line of stderr. Only the members of its kind are set. Lines are an aid: their wording is no public
// interface, and a plugin can print what it likes, so nothing may depend on one being there.
type LogLine struct {
	Kind                        LogKind
	At                          time.Time // of opencode's clock; zero for lines without one
	Session, Parent             string
	Directory, Version          string
	Provider, Model, Agent      string
	Small, Subagent             bool
	Permission, Pattern, Action string
	Step                        int
	Error, Ref                  string
	ErrorType, ErrorCode        string // of an error that was an object of the stream
}

// lineLimit is how much of a line is looked at. Lines of opencode's own log are far shorter, but for stack traces.
const lineLimit = 64 << 10

var (
	rejecting     = lazyregexp.New(`^! *permission requested: ([^ (]+) ?(?:\((.*)\))?; auto-rejecting`)
	agentFallback = lazyregexp.New(`^! *agent "([^"]*)" (?:not found|is a subagent).*[Ff]alling back`)
)

// databaseBusy reports a start that failed at the database. What opencode 1.18 prints when another process holds it for
// longer than 5 s, or when two make the database at once, names no lock, only the statement, which may begin on the next line.
func databaseBusy(text string) bool {
	return strings.HasPrefix(text, "Failed query:") || strings.Contains(text, "database is locked") || strings.Contains(text, "SQLITE_BUSY") || strings.Contains(text, "PRAGMA journal_mode = WAL")
}

// ParseLogLine reads one line, without its newline. It never fails and looks at the first 64 KiB only.
func ParseLogLine(line []byte) LogLine {
	line = line[:min(len(line), lineLimit)]
	if bytes.HasPrefix(line, []byte("timestamp=")) {
		if l, ok := parseLogfmt(string(line)); ok {
			return l
		}
	}
	text := string(line)
	if strings.Contains(text, "\x1b") {
		text = plain(text)
	}
	text = strings.TrimSpace(text)
	// Noise can come by the megabyte: the expressions are for lines that look like theirs.
	switch {
	case strings.Contains(text, "auto-rejecting"):
		if m := rejecting().FindStringSubmatch(text); m != nil {
			return LogLine{Kind: LogRejected, Permission: m[1], Pattern: m[2]}
		}
	case strings.Contains(text, "alling back"):
		if m := agentFallback().FindStringSubmatch(text); m != nil {
			return LogLine{Kind: LogAgentFallback, Agent: m[1]}
		}
	case databaseBusy(text):
		return LogLine{Kind: LogDatabase, Error: text}
	case strings.HasPrefix(text, "Error:"), strings.HasPrefix(text, "error:"):
		return LogLine{Kind: LogFatal, Error: strings.TrimSpace(text[len("error:"):])}
	}
	return LogLine{Kind: LogOther, Error: text}
}

func parseLogfmt(line string) (LogLine, bool) {
	var l LogLine
	var level, message string
	for rest := line; rest != ""; {
		var key, value string
		key, value, rest = nextPair(rest)
		switch key {
		case "timestamp":
			at, err := time.Parse(time.RFC3339Nano, value)
			if err != nil {
				return LogLine{}, false
			}
			l.At = at.UTC()
		case "level":
			level = value
		case "message":
			message = value
		case "id", "session.id":
			if id := event.ValidSession(value); id != "" {
				l.Session = id
			}
		case "parentID":
			if id := event.ValidSession(value); id != "" {
				l.Parent = id
			}
		case "directory":
			l.Directory = value
		case "version":
			l.Version = value
		case "providerID":
			l.Provider = value
		case "modelID":
			l.Model = value
		case "agent":
			l.Agent = value
		case "small":
			l.Small = value == "true"
		case "mode":
			l.Subagent = value == "subagent"
		case "permission":
			l.Permission = value
		case "pattern", "patterns":
			l.Pattern = value
		case "action.action":
			l.Action = value
		case "step":
			l.Step, _ = strconv.Atoi(value)
		case "error.error", "error.error.message", "error":
			l.Error = value
		case "error.error.type":
			l.ErrorType = value
		case "error.error.code":
			l.ErrorCode = value
		case "cause":
			// The lines of the server's own failures repeat their error here; some have only this.
			if l.Error == "" {
				l.Error = value
			}
		case "ref":
			l.Ref = value
		}
	}
	l.Kind = kindOf(level, message, l)
	return l, true
}

func kindOf(level, message string, l LogLine) LogKind {
	switch {
	case level == "ERROR" && databaseBusy(l.Error):
		return LogDatabase
	case message == "stream error":
		return LogStreamError
	case message == "stream" && l.Provider != "":
		return LogStream
	case message == "created" && l.Session != "":
		return LogCreated
	case message == "failed" && level == "ERROR":
		return LogFailed
	case message == "process" && level == "ERROR":
		return LogProcessError
	case message == "evaluated":
		return LogEvaluated
	case message == "asking":
		return LogAsking
	case message == "loop":
		return LogLoop
	case message == "exiting loop":
		return LogExitingLoop
	}
	return LogInfo
}

// nextPair takes one key=value off a logfmt line. A value with a space, a quote or an equals sign stands in JSON
// quotes; one whose closing quote is missing, because the line was cut, is taken as far as it goes.
func nextPair(s string) (key, value, rest string) {
	s = strings.TrimLeft(s, " ")
	eq := strings.IndexAny(s, "= ")
	if eq < 0 {
		return s, "", ""
	}
	if s[eq] == ' ' {
		return s[:eq], "", s[eq+1:]
	}
	key, s = s[:eq], s[eq+1:]
	if !strings.HasPrefix(s, `"`) {
		value, rest, _ = strings.Cut(s, " ")
		return key, value, rest
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return key, unquote(s[:i+1]), s[i+1:]
		}
	}
	return key, unquote(strings.TrimRight(s, `\`) + `"`), ""
}

func unquote(quoted string) string {
	var v string
	if json.Unmarshal([]byte(quoted), &v) == nil {
		return v
	}
	return strings.Trim(quoted, `"`)
}
