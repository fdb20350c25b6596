package event

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	// frame is the length up to which a line is decoded as one piece.
	frame = 256 << 10
	// noiseLimit is the number of bytes that are kept of a line that is no event.
	noiseLimit = 4 << 10
)

var byteOrderMark = []byte("\ufeff")

// A Stream reads the events of one run.
//
// Each line is redacted, written to the log and decoded, in this order, so that an event that was seen is in the log.
// A line of any length takes the same memory (about 1 MiB): what is longer than a frame goes through in pieces. A line
// that holds several objects gives several events. Text before an object is passed over when the object is an event
// beyond doubt: a type that is known, a session and a time. A line that gives no event gives one of type [Noise].
// Blank lines give nothing. The last line needs no newline; CRLF ends a line too.
type Stream struct {
	src   *bufio.Reader
	log   *Log
	ended error // what src ended with

	in      decoder
	open    bool // a line is being read
	long    bool // and not all of it was fetched yet
	junk    bool // and something else than white space and objects was in it
	broken  bool // and an object in it was no JSON: the rest is passed over
	events  int  // and gave so many events
	lineOff int64
	size    int64 // bytes of the line so far, as logged
	head    []byte
	pieces  io.WriteCloser
	room    []byte // the window for long lines
}

// NewStream returns the stream of src. A nil log keeps nothing and redacts nothing.
func NewStream(src io.Reader, log *Log) *Stream { return newStream(src, log, frame) }

func newStream(src io.Reader, log *Log, frame int) *Stream {
	if log == nil {
		log = NewLog(nil, nil)
	}
	return &Stream{src: bufio.NewReaderSize(src, frame), log: log}
}

// Next returns the next event; io.EOF after the last. Another error is that of the source, after all that it gave.
func (s *Stream) Next() (Event, error) {
	for {
		if !s.open {
			if s.ended != nil {
				return Event{}, s.ended
			}
			s.start()
			continue
		}
		if e, ok := s.inLine(); ok {
			s.events++
			return e, nil
		}
		s.open = false
		if s.events == 0 && (s.junk || s.broken) {
			return s.noise(), nil
		}
	}
}

// start begins the next line.
func (s *Stream) start() {
	raw, err := s.src.ReadSlice('\n')
	s.long = errors.Is(err, bufio.ErrBufferFull)
	if err != nil && !s.long {
		s.end(err)
		if len(raw) == 0 {
			return
		}
	}
	s.open, s.junk, s.broken, s.events = true, false, false, 0
	s.in.base, s.in.pos, s.in.fill = 0, 0, nil
	if !s.long {
		line, span := s.log.line(raw)
		s.lineOff, s.size, s.in.win = span.Off, int64(len(line)), line
		s.head = line[:min(len(line), noiseLimit)]
		return
	}
	s.log.begin()
	s.lineOff, s.size, s.head = s.log.off, 0, nil
	s.in.win = s.room[:0]
	s.pieces = s.log.set(raw).Writer((*sink)(s))
	s.in.fill = s.fetch
	s.pieces.Write(raw)
	s.head = bytes.Clone(s.in.win[:min(len(s.in.win), noiseLimit)])
}

func (s *Stream) end(err error) {
	if errors.Is(err, io.EOF) {
		s.ended = io.EOF
		return
	}
	s.ended = fmt.Errorf("reading events: %w", err)
}

// fetch makes the window of a long line longer. It is the lexer's fill.
func (s *Stream) fetch() bool {
	if !s.long {
		return false
	}
	rest := copy(s.in.win, s.in.win[s.in.pos:])
	s.in.base += int64(s.in.pos)
	s.in.win, s.in.pos = s.in.win[:rest], 0
	for s.long && len(s.in.win) == rest {
		raw, err := s.src.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			s.long = false
			if err != nil {
				s.end(err)
			}
		}
		s.pieces.Write(bytes.TrimSuffix(raw, []byte("\n")))
		if !s.long {
			s.pieces.Close()
			s.log.write([]byte("\n"))
		}
	}
	s.room = s.in.win
	return len(s.in.win) > rest
}

// sink takes the redacted pieces of a long line.
type sink Stream

func (k *sink) Write(b []byte) (int, error) {
	k.in.win = append(k.in.win, b...)
	k.size += int64(len(b))
	k.log.write(b)
	return len(b), nil
}

// inLine returns the next event of the line that is open.
func (s *Stream) inLine() (Event, bool) {
	for !s.broken {
		if !s.toObject() {
			break
		}
		from := s.in.at()
		e, ok := s.in.event()
		if !ok {
			s.broken = true
			break
		}
		certain := e.Type.known() && e.Session != "" && !e.At.IsZero()
		if e.Type == Noise || s.junk && !certain {
			s.junk = true
			continue
		}
		if e.Type == TextBlock || e.Type == Reasoning {
			e.Text.Line = s.log.span(s.lineOff+from, s.lineOff+s.in.at())
		}
		return e, true
	}
	for s.in.pos = len(s.in.win); s.in.more(); s.in.pos = len(s.in.win) {
	}
	return Event{}, false
}

// toObject moves to the next object of the line.
func (s *Stream) toObject() bool {
	if s.in.base == 0 && s.in.pos == 0 && bytes.HasPrefix(s.in.win, byteOrderMark) {
		s.in.pos += len(byteOrderMark)
	}
	c := s.in.peek()
	if c == '{' && !s.junk {
		return true
	}
	if s.in.pos == len(s.in.win) {
		return false
	}
	s.junk = true
	for {
		i := bytes.Index(s.in.win[s.in.pos:], []byte(`{"`))
		if i >= 0 {
			s.in.pos += i
			return true
		}
		// The brace may be the last byte of the window.
		s.in.pos = max(s.in.pos, len(s.in.win)-1)
		if !s.in.more() {
			s.in.pos = len(s.in.win)
			return false
		}
	}
}

// noise is the event of a line that has none.
func (s *Stream) noise() Event {
	text := Text{Head: strings.ToValidUTF8(string(s.head), "\ufffd"), Size: s.size, Line: s.log.span(s.lineOff, s.lineOff+s.size)}
	if s.size == int64(len(s.head)) {
		text.Size = int64(len(text.Head))
	}
	return Event{Type: Noise, Text: text}
}
