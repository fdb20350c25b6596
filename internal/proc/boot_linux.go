package proc

import (
	"os"
	"strings"
)

// Boot names the present boot of the machine: the kernel makes a new one each time (random(4), boot_id). Empty when it
// cannot be read.
func Boot() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b))
}
