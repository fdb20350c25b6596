package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/record"
)

// finishTime bounds the command of --on-finish.
const finishTime = time.Minute

// finishLimit is how much of what it says is kept, in bytes.
const finishLimit = 1 << 20

// bounded lets a number of bytes through and swallows the rest.
type bounded struct {
	w    io.Writer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.left -= n
	if _, err := b.w.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// FinishFailed begins the last line of on-finish.log when the command did not succeed.
const FinishFailed = "oc-job: --on-finish failed: "

// onFinish runs the caller's own command with the result on its stdin. It comes after the end of the job, and nothing of it
// changes that; what it says stands in the record.
func (a *App) onFinish(store *job.Store, sup job.Supervision, res delegate.Result) {
	rec := store.Record(sup.ID)
	var log io.Writer = io.Discard // a full disk keeps what it says from being kept, and not the command from being run
	if f, err := rec.Create(record.Finish); err == nil {
		defer f.Close()
		log = f
	}
	out := a.Secrets.Writer(&bounded{log, finishLimit})
	defer out.Close()
	data, err := json.Marshal(shown(res, sup.Launch.Reply.Digest))
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), finishTime)
	defer cancel()
	argv := shell(sup.Launch.OnFinish)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = sup.Launch.Cwd, append(a.Environ, "OC_JOB_ID="+sup.ID, "OC_JOB_STATUS="+string(res.Status))
	if _, err := os.Stat(cmd.Dir); err != nil {
		cmd.Dir = rec.Path() // the caller's directory has gone meanwhile
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(append(a.Secrets.JSON().Bytes(data), '\n')), out, out
	cmd.WaitDelay = time.Second // what it leaves running may hold the log open
	group(cmd)
	if err := cmd.Run(); err != nil {
		fmt.Fprintf(log, "%s%v\n", FinishFailed, err)
	}
}
