package testmodel

// faults are broken connections and streams.
func faults() []Scenario {
	return []Scenario{
		do("hang", "the connection is taken, nothing is ever sent", Step{Fault: Hang}),
		do("hang-headers", "headers, then nothing", Step{Fault: HangHeaders}),
		do("stall", "some text, then nothing", Step{Text: "This stream stalls", Fault: Stall}),
		do("reset", "some text, then TCP RST", Step{Text: "This stream is reset", Fault: Reset}),
		do("reset0", "TCP RST before any byte", Step{Fault: ResetAtOnce}),
		do("eof", "some text, then a clean end without finish_reason", Step{Text: "This stream just ends", Fault: EOF}),
		do("garbage", "a stream of bad JSON", Step{Fault: Garbage}),
		do("sse-error", "an error object after some text", Step{Text: "Some text first", Fault: StreamError,
			Body: `{"error":{"message":"Upstream provider failed mid-stream","type":"server_error","code":502}}`}),
		do("sse-error-go", "GoUsageLimitError as the only object of the stream", Step{Fault: StreamBody, Body: goWeekly}),
	}
}
