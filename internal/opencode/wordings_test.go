package opencode

import (
	"testing"

	"opencode-delegate/internal/event"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/proc"
)

// Wordings that look like another kind, by their status, message and body. Without a message the body's counts.
func TestWordingsThatLookLikeAnotherKind(t *testing.T) {
	for _, c := range []struct {
		status        int
		message, body string
		want          outcome
	}{
		// What is no error member: MiniMax answers so, also with HTTP 200.
		{0, "", `{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}`, quota},
		{200, "", `{"base_resp":{"status_code":2056,"status_msg":"usage cap"}}`, quota},
		{0, "", `{"base_resp":{"status_code":1002,"status_msg":"limited"}}`, transient},
		{0, "", `{"id":"1","base_resp":{"status_code":1039,"status_msg":"TPM"}}`, transient},
		{0, "", `{"base_resp":{"status_code":1004,"status_msg":"login fail"}}`, auth},
		{0, "", `{"base_resp":{"status_code":2049,"status_msg":"bad"}}`, auth},
		{0, "", `{"base_resp":{"status_code":1013,"status_msg":"unspecific"}}`, transient},
		{0, "", `{"base_resp":{"status_code":1026,"status_msg":"new_sensitive"}}`, failed},
		// Budgets and quotas by type.
		{400, "Budget has been exceeded! Current cost: 10.1, Max budget: 10.0", `{"error":{"type":"budget_exceeded","message":"Budget has been exceeded! Current cost: 10.1, Max budget: 10.0","code":"400"}}`, quota},
		{400, "ExceededBudget: User=x over budget. Spend=11, Budget=10", "", quota},
		{429, "Stop.", `{"error":{"code":"BudgetExceeded","message":"Stop."}}`, quota},
		{429, "Your team has exceeded its monthly budget", "", quota},
		{429, "Requests per day limit exceeded", `{"error":{"code":"request_quota_exceeded","message":"Requests per day limit exceeded"}}`, quota},
		{429, "Requests per minute limit exceeded - too many requests sent.", `{"error":{"code":"request_quota_exceeded","message":"Requests per minute limit exceeded"}}`, transient},
		{429, "Tokens per day limit exceeded - too many tokens processed.", "", quota},
		{429, "Your account [1] has reached the set inference limit for the [x] model, and the model service has been paused.", `{"error":{"code":"SetLimitExceeded","message":"m"}}`, quota},
		{400, "You're out of extra usage · resets 6pm (UTC)", "", quota},
		{400, "You’re out of extra usage · resets 6pm (UTC)", "", quota},
		{403, "Your newly created team doesn’t have any credits yet", "", quota},
		{429, "You’ve hit your limit · resets 3pm", "", quota},
		{402, "Your prepaid funds are depleted", "", quota},
		{429, "You are out of tokens for this plan", "", quota},
		{429, "Monthly allowance exceeded", "", quota},
		{400, "The thinking budget 40000 exceeded the maximum of 32000", "", failed},
		// A quota of a minute passes, one of a day does not.
		{429, "Quota exceeded for aiplatform.googleapis.com/generate_content_requests_per_minute_per_project_per_base_model with base model: gemini-pro. Please submit a quota increase request.", "", transient},
		{429, "Quota exceeded for quota metric 'Generate requests' and limit 'Requests per minute' of service 'x'", "", transient},
		{429, "Quota exceeded for metric online_prediction_tokens_per_minute_per_base_model", "", transient},
		{429, "You have exceeded your quota of 60 requests per minute", "", transient},
		{429, "Quota of 5 requests per second was used up", "", transient},
		{429, "Limit: 100000 tokens/min. Quota exceeded.", "", transient},
		{429, "The per-minute quota of this key is used up", "", transient},
		{429, "Quota limit of 20/min reached", "", transient},
		{429, "has exceeded your per-minute quota", "", transient},
		{429, "Quota exceeded for requests_per_minute: the quota is replenished every minute", "", transient},
		{429, "Quota exceeded for metric generate_requests_per_day_per_project", "", quota},
		{429, "Your daily quota of requests is used up; also limited to 5 requests per minute", "", quota},
		{429, "Quota exceeded: 1000 requests per month", "", quota},
		{429, "You exceeded your weekly quota", "", quota},
		// Models.
		{403, "You don't have access to the model with the specified model ID.", "", model},
		{403, "You don’t have access to the model with the specified model ID.", "", model},
		{404, "The model doesn’t exist", "", model},
		// Disks, and names in what a request holds.
		{400, "Invalid schema for function 'billing_limit_get': properties.credit balance is not of type object", "", failed},
		{400, "Invalid schema for function billing_limit_get: usage limit: not a schema", "", failed},
		{400, "tools.3.custom.name: quota exceeded get: String should match pattern", "", failed},
		{400, "Invalid tool parameters: credit balance is required", "", failed},
		{400, "function get_quota: arguments are no JSON", "", failed},
		{400, "Tool spend_limit has an invalid property usage limit", "", failed},
		{500, "disk quota exceeded while writing kv-cache", "", transient},
		{503, "ENOSPC: the quota of this volume", "", transient},
		{500, "EDQUOT: quota exceeded", "", transient},
		{500, "no space left on device; quota 10G", "", transient},
		{0, "write failed: disk quota exceeded", "", failed},
		{0, "write failed: disk quota of 5 GB/min", "", failed},
		{402, "Invalid schema of your account's balance", "", quota}, // the status is plain
	} {
		name := "APIError"
		ev := FromEvent(event.Event{Type: event.Failure, At: noon, Err: event.Err{Name: name, Message: c.message, Status: c.status, Body: c.body}}, noon)
		f, _ := Classify(ev)
		if got := (outcome{f.Kind, f.Transient}); got != c.want {
			t.Errorf("%d %q %s: %+v, want %+v", c.status, c.message, c.body, got, c.want)
		}
	}
}

func TestFatalLinesAreTheMachinesOwn(t *testing.T) {
	for line, want := range map[string]fault.Kind{
		"ENOSPC: no space left on device, disk quota exceeded":                       fault.RunFailed,
		"plugin x: cannot load /home/quota exceeded/plugin.js":                       fault.RunFailed,
		"EDQUOT: quota exceeded, write":                                              fault.RunFailed,
		"cannot read /srv/billing limit/config.json":                                 fault.RunFailed,
		"plugin y: usage limit reached":                                              fault.RunFailed,
		"EACCES: unauthorized to open /home/me/x":                                    fault.RunFailed,
		"MCP server z: invalid token":                                                fault.RunFailed,
		"config: credit balance is no member":                                        fault.RunFailed,
		"Cannot find module '/opt/insufficient credits/index.js'":                    fault.RunFailed,
		"write /var/lib: user quota exhausted":                                       fault.RunFailed,
		"AI_APICallError: Weekly usage limit reached. Resets in 3 days.":             fault.QuotaExhausted,
		"request failed with status 402: Insufficient credits":                       fault.QuotaExhausted,
		"ProviderAuthError: not logged in":                                           fault.AuthRequired,
		"Incorrect API key provided: sk-xxxx. You can find your API key on our site": fault.AuthRequired,
	} {
		w := newWatch(Attempt{}, noon)
		w.line(ParseLogLine([]byte("Error: "+line)), noon)
		f := w.verdict(Attempt{}, proc.Exit{Code: 1})
		if f == nil || f.Kind != want || f.Kind == fault.RunFailed && (!f.ResetAt.IsZero() || len(f.Hints) != 0) {
			t.Errorf("%q: %+v, want %s", line, f, want)
		}
	}
}
