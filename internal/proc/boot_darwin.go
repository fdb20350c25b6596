package proc

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// Boot names the present boot of the machine by its time. Empty when it cannot be read.
func Boot() string {
	t, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return ""
	}
	return strconv.FormatInt(t.Sec, 10)
}
