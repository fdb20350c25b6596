package job

import (
	"path/filepath"

	"opencode-delegate/internal/proc"
)

// Present is the session as which a process of Claude Code calls, as far as it has said so.
func (s *Store) Present(process proc.ID) (session string, ok bool) { return s.present(process) }

// CallersDir is where something about a process of Claude Code may be kept; names of its own files begin with p- or are keys.
func (s *Store) CallersDir() (string, error) { return s.own(callersDir) }

// ArgumentsDir is where what a person has typed behind a command waits for that command.
func (s *Store) ArgumentsDir() (string, error) { return s.own(argumentsDir) }

func (s *Store) own(name string) (string, error) {
	dir := filepath.Join(s.root, name)
	return dir, makeDir(dir)
}
