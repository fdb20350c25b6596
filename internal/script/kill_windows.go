package script

import "os"

// kill ends a process, whatever the name of the signal: there is no other here.
func kill(pid int, _ string) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}
