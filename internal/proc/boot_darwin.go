package proc

import "golang.org/x/sys/unix"

// Boot names the present boot of the machine: the kernel makes a new name each time. Its time would not do, since that moves
// when somebody sets the clock. Empty when it cannot be read.
func Boot() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}
