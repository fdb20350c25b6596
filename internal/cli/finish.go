package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"time"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/record"
)

// finishTime bounds the command of --on-finish.
const finishTime = time.Minute

// FinishFailed begins the last line of on-finish.log when the command did not succeed.
const FinishFailed = "oc-job: --on-finish failed: "

// onFinish runs the caller's own command with the result on its stdin. It comes after the end of the job, and nothing of it
// changes that; what it says stands in the record.
func (a *App) onFinish(store *job.Store, sup job.Supervision, res delegate.Result) {
	rec := store.Record(sup.ID)
	log, err := rec.Create(record.Finish)
	if err != nil {
		return
	}
	defer log.Close()
	out := a.Secrets.Writer(log)
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
	if err := cmd.Run(); err != nil {
		fmt.Fprintf(out, "%s%v\n", FinishFailed, err)
	}
}
