package job

import "opencode-delegate/internal/delegate"

// spent takes an attempt into the books.
func (j *Job) spent(delegate.Spend) {}
