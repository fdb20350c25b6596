package testmodel

// Bodies that more than one scenario needs.
const (
	openAIKey   = `{"error":{"message":"Incorrect API key provided: sk-xxxx. You can find your API key at https://platform.openai.com/account/api-keys.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`
	openAIRate  = `{"error":{"message":"Rate limit reached for requests","type":"requests","param":null,"code":"rate_limit_exceeded"}}`
	goFiveHours = `{"type":"error","error":{"type":"GoUsageLimitError","message":"5-hour usage limit reached. Resets in 2hr 10min. To continue using this model now, enable usage from your available balance: https://opencode.ai/workspace/wrk_TEST/go"},"metadata":{"workspace":"wrk_TEST","limitName":"5 hour"}}`
	goWeekly    = `{"type":"error","error":{"type":"GoUsageLimitError","message":"Weekly usage limit reached. Resets in 3 days. To continue using this model now, enable usage from your available balance: https://opencode.ai/workspace/wrk_TEST/go"},"metadata":{"workspace":"wrk_TEST","limitName":"weekly"}}`
)

// refusals are HTTP errors in the words of the providers. Bodies with a type such as GoUsageLimitError are OpenCode's own
// gateway (Zen and Go), which answers 401 for an empty account and for an unknown model too. A Retry-After of 1 lets
// opencode come to the end of its retries within a test; without the header that takes it over a minute.
func refusals() []Scenario {
	refuse := func(name, help string, status int, body string, retryAfterAndType ...string) Scenario {
		s := Step{Status: status, Body: body, Headers: map[string]string{"Content-Type": "application/json"}}
		for i, name := range []string{"Retry-After", "Content-Type"} {
			if i < len(retryAfterAndType) && retryAfterAndType[i] != "" {
				s.Headers[name] = retryAfterAndType[i]
			}
		}
		return do(name, help, s)
	}
	once := refuse("err-429-once", "429 (Retry-After: 1) once, then text", 429, openAIRate, "1")
	once.Answers[0][0].Times = 1
	once.Answers[0] = append(once.Answers[0], Step{Text: "Recovered after one 429."})
	return []Scenario{
		once,
		refuse("err-400", "400 bad request", 400, `{"error":{"message":"Invalid value for 'messages'.","type":"invalid_request_error","param":"messages","code":null}}`),
		refuse("err-401", "401 OpenAI wording", 401, openAIKey),
		refuse("err-401-empty", "401 without a body", 401, ""),
		refuse("err-402", "402 OpenRouter wording", 402, `{"error":{"message":"Insufficient credits. Add more using https://openrouter.ai/settings/credits","code":402}}`),
		refuse("err-402-deepseek", "402 DeepSeek wording", 402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`),
		refuse("err-403", "403", 403, `{"error":{"message":"Your account does not have access to this model.","type":"permission_error","code":"access_denied"}}`),
		refuse("err-404-model", "404 OpenAI wording", 404, `{"error":{"message":"The model 'nope' does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}`),
		refuse("err-404-ollama", "404 Ollama wording", 404, `{"error":{"message":"model \"nope\" not found, try pulling it first","type":"api_error","param":null,"code":null}}`),
		refuse("err-413", "413 too large", 413, `{"error":{"message":"Request too large","type":"request_too_large"}}`),
		refuse("err-422", "422", 422, `{"error":{"message":"Unprocessable","type":"invalid_request_error"}}`),
		refuse("err-429", "429, no Retry-After", 429, openAIRate),
		refuse("err-429-ra1", "429 with Retry-After: 1", 429, openAIRate, "1"),
		refuse("err-429-ra3600", "429 with Retry-After: 3600", 429, openAIRate, "3600"),
		refuse("err-429-openai-quota", "429 insufficient_quota", 429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, "1"),
		refuse("err-429-openai-quota-nora", "429 insufficient_quota, no Retry-After", 429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`),
		refuse("err-429-gemini", "429 Gemini wording", 429, `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED"}}`, "1"),
		refuse("err-429-zai", "429 Z.ai wording", 429, `{"error":{"code":"1113","message":"Insufficient balance or no resource package. Please recharge."}}`, "1"),
		refuse("err-429-zai-plan", "429 Z.ai coding-plan wording", 429, `{"error":{"code":"1308","message":"Usage limit reached for 5 hour. Your limit will reset at 2026-11-29 20:00:00"}}`, "1"),
		refuse("err-429-kimi", "429 Moonshot wording", 429, `{"error":{"message":"Your account org-xxx <ak-xxx> is suspended, please check your plan and billing details","type":"exceeded_current_quota_error"}}`, "1"),
		refuse("err-429-zen-go", "429 GoUsageLimitError, 5-hour limit, Retry-After: 7800", 429, goFiveHours, "7800"),
		refuse("err-429-zen-go-week", "429 GoUsageLimitError, weekly, Retry-After: 259200", 429, goWeekly, "259200"),
		refuse("err-429-zen-go-ra1", "429 GoUsageLimitError with Retry-After: 1", 429, goFiveHours, "1"),
		refuse("err-429-zen-free", "429 FreeUsageLimitError, Retry-After: 1", 429, `{"type":"error","error":{"type":"FreeUsageLimitError","message":"Rate limit exceeded. Please try again later."},"metadata":{}}`, "1"),
		refuse("err-429-zen-rate", "429 RateLimitError (zen), Retry-After: 1", 429, `{"type":"error","error":{"type":"RateLimitError","message":"Rate limit exceeded. Please try again later."},"metadata":{}}`, "1"),
		refuse("err-401-zen-credits", "401 CreditsError", 401, `{"type":"error","error":{"type":"CreditsError","message":"Insufficient balance. Manage your billing here: https://opencode.ai/workspace/wrk_TEST/billing"}}`),
		refuse("err-401-zen-nopay", "401 CreditsError, no payment method", 401, `{"type":"error","error":{"type":"CreditsError","message":"No payment method. Add a payment method here: https://opencode.ai/workspace/wrk_TEST/billing"}}`),
		refuse("err-401-zen-monthly", "401 MonthlyLimitError", 401, `{"type":"error","error":{"type":"MonthlyLimitError","message":"Your workspace has reached its monthly spending limit of $20. Manage your limits here: https://opencode.ai/workspace/wrk_TEST/billing"}}`),
		refuse("err-401-zen-user", "401 UserLimitError", 401, `{"type":"error","error":{"type":"UserLimitError","message":"You have reached your monthly spending limit of $20. Manage your limits here: https://opencode.ai/workspace/wrk_TEST/members"}}`),
		refuse("err-401-zen-auth", "401 AuthError", 401, `{"type":"error","error":{"type":"AuthError","message":"Invalid API key."}}`),
		refuse("err-401-zen-nokey", "401 AuthError, no key", 401, `{"type":"error","error":{"type":"AuthError","message":"Missing API key."}}`),
		refuse("err-401-zen-model", "401 ModelError, unknown model", 401, `{"type":"error","error":{"type":"ModelError","message":"Model nope is not supported"}}`),
		refuse("err-401-zen-disabled", "401 ModelError, disabled", 401, `{"type":"error","error":{"type":"ModelError","message":"Model is disabled"}}`),
		refuse("err-403-zen-region", "403 RegionError", 403, `{"type":"error","error":{"type":"RegionError","message":"The latest version of this model is only available hosted in China and requires explicit opt in: https://opencode.ai/workspace/wrk_TEST/go"}}`),
		refuse("err-400-anthropic-credit", "400 Anthropic credit wording", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}}`),
		refuse("err-403-usage", "403 usage limit, Kimi wording", 403, `{"error":{"message":"You've reached your usage limit for this billing cycle. Your quota will be refreshed in the next cycle. Upgrade to get more: https://www.kimi.com","type":"access_terminated_error"}}`),
		refuse("err-500", "500", 500, `{"error":{"message":"The server had an error while processing your request.","type":"server_error"}}`),
		refuse("err-500-ra", "500 with Retry-After: 1", 500, `{"error":{"message":"The server had an error while processing your request.","type":"server_error"}}`, "1"),
		refuse("err-502-html", "502 with an HTML body, Retry-After: 1", 502, "<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center><hr><center>nginx</center></body></html>", "1", "text/html"),
		refuse("err-503", "503 with Retry-After: 1", 503, `{"error":{"message":"Service Unavailable","type":"server_error"}}`, "1"),
		refuse("err-529", "529 Anthropic overloaded, Retry-After: 1", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, "1"),
		refuse("err-context", "400 context overflow, OpenAI wording", 400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`),
		refuse("ok-error-body", "200 with a JSON error body", 200, `{"type":"error","error":{"type":"GoUsageLimitError","message":"Weekly usage limit reached. Resets in 19hr"}}`),
		refuse("ok-html", "200 with an HTML body (captive portal)", 200, "<html><body>Please log in</body></html>", "", "text/html"),
	}
}
