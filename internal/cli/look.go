package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/plain"
)

// Explain prints each resolved value with its source.
func Explain(w io.Writer, c call.Call) error {
	if c.Reply.JSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(c.Rows)
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, r := range c.Rows {
		fmt.Fprintf(t, "%s\t%s\t%s\n", r.Name, plain.Line(r.Value, 200), r.Source)
	}
	return t.Flush()
}

// PrintCommand prints what would be run, in a form that a shell could read back.
func PrintCommand(w io.Writer, c call.Call, cmd delegate.Command) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "# model\t%s\t(%s)\n", c.Request.Model, c.Request.ModelSource)
	fmt.Fprintf(t, "# profile\t%s\n", c.Request.Profile)
	sandbox := cmd.Sandbox
	if sandbox == "landlock" {
		sandbox += "\t(oc-delegate puts it around the command; it is no part of it)"
	}
	fmt.Fprintf(t, "# sandbox\t%s\n", sandbox)
	fmt.Fprintf(t, "# timeout\t%s\n", c.Request.Timeout.String())
	fmt.Fprintf(t, "# task\ton stdin\n# TMPDIR\ta private directory of the run\n")
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "cd %s &&\n", quote(c.Request.Dir))
	for _, name := range cmd.Unset {
		if err == nil {
			_, err = fmt.Fprintf(w, "unset %s &&\n", name)
		}
	}
	for _, kv := range cmd.Set {
		if err == nil {
			_, err = fmt.Fprintf(w, "export %s &&\n", assignment(kv))
		}
	}
	for i, a := range cmd.Argv {
		sep := " "
		if i == 0 {
			sep = ""
		}
		if err == nil {
			_, err = io.WriteString(w, sep+quote(a))
		}
	}
	if err == nil {
		_, err = io.WriteString(w, "\n")
	}
	return err
}
