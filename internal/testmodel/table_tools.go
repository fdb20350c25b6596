package testmodel

// tools are the scenarios in which the model uses tools. After the last call the model closes with a sentence that quotes
// its result.
func tools() []Scenario {
	args := func(kv ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i].(string)] = kv[i+1]
		}
		return m
	}
	write := func(path, content string) Step { return call("write", args("filePath", path, "content", content)) }
	again := func(turns int, vary bool) Step {
		s := bash("echo again")
		s.Repeat, s.Vary = turns, vary
		return s
	}
	sub := func(agent string) Step {
		return call("task", args("description", "sub task", "prompt", "do the sub task [[mock:bash-write]]", "subagent_type", agent))
	}
	longBash := bash("echo started > started.txt; sleep 300 & sleep 301; echo finished > finished.txt")
	longBash.Calls[0].Args["timeout"] = 400000
	return []Scenario{
		do("write", "tool write mock-out.txt", write("mock-out.txt", "written by mock\n")),
		do("write-external", "tool write ../outside-write.txt", write("../outside-write.txt", "outside\n")),
		do("write-then-401", "tool write, then HTTP 401", write("mock-out.txt", "half done\n"), Step{Status: 401, Body: openAIKey}),
		do("write-then-hang", "tool write, then silence", write("mock-out.txt", "half done\n"), Step{Fault: Hang}),
		do("write-then-empty", "tool write, then an empty reply", write("mock-out.txt", "done, no words\n"), Step{}),
		do("claim", "says that it wrote a file and wrote none", Step{Text: "Done: I created the file and all tests pass."}),
		do("edit", "tools read and edit a.txt (hello -> goodbye)", Step{Calls: []Call{
			{Tool: "read", Args: args("filePath", "a.txt")},
			{Tool: "edit", Args: args("filePath", "a.txt", "oldString", "hello", "newString", "goodbye")}}}),
		do("bash", "tool bash", bash("echo bash-ran; id -u; pwd")),
		do("bash-write", "tool bash that writes a file", bash("echo via-bash > bash-out.txt && echo wrote")),
		do("bash-python", "tool bash: python writes a file", bash(`python3 -c 'open("python-out.txt","w").write("x")' && echo wrote`)),
		do("bash-fail", "tool bash that exits 3", bash("echo oops >&2; exit 3")),
		do("bash-fail-green", "three failing commands, then a claim of success", bash("exit 1"), bash("exit 2"), bash("exit 3"), Step{Text: "All green."}),
		do("bash-sleep", "tool bash: sleeps for minutes, with a grandchild", longBash),
		do("bash-bg", "tool bash that leaves a child in a session of its own", bash("setsid sleep 303 >/dev/null 2>&1 & echo bg")),
		do("bash-bigout", "tool bash with 3 MB of output", bash("yes 0123456789abcdef | head -c 3000000")),
		do("bash-external", "tool bash that writes outside the project", bash("echo x > ../outside-bash.txt; ls -la ..")),
		do("read", "tool read a.txt", call("read", args("filePath", "a.txt"))),
		do("read-missing", "tool read of a missing file", call("read", args("filePath", "no-such-file.txt"))),
		do("read-env", "tool read .env", call("read", args("filePath", ".env"))),
		do("read-external", "tool read /etc/hostname", call("read", args("filePath", "/etc/hostname"))),
		do("glob-grep", "tools glob and grep in one message", Step{Calls: []Call{
			{Tool: "glob", Args: args("pattern", "**/*.txt")}, {Tool: "grep", Args: args("pattern", "hello")}}}),
		do("todo", "tool todowrite", call("todowrite", args("todos", []any{args("content", "do it", "status", "pending", "priority", "high", "id", "1")}))),
		do("question", "tool question (asks the user)", call("question", args("questions", []any{args("question", "Proceed?", "header", "Go", "options", []any{args("label", "Yes", "description", "go on")})}))),
		do("task", "tool task: subagent general runs bash-write", sub("general")),
		do("task-explore", "tool task: subagent explore runs bash-write", sub("explore")),
		do("multi", "two tools in one message", Step{Calls: []Call{
			{Tool: "read", Args: args("filePath", "a.txt")}, {Tool: "bash", Args: args("command", "echo two", "description", "two")}}}),
		do("unknown-tool", "a tool that does not exist", call("frobnicate", args("x", 1))),
		do("bad-json", "malformed tool arguments", Step{Calls: []Call{{Tool: "write", Raw: `{"filePath":"mock-bad.txt","content":"unterminated`}}}),
		do("bad-args", "tool arguments that fail the schema", call("write", args("path", "x"))),
		do("loop", "the same tool call for 25 turns", again(25, false)),
		do("loop-vary", "a new tool call for 40 turns", again(40, true)),
		do("secret", "says ARG in a command and in the text", bash("echo {{ARG}}"), Step{Text: "The value is {{ARG}}, as asked."}),
	}
}
