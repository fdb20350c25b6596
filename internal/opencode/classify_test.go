package opencode

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"opencode-delegate/internal/event"
	"opencode-delegate/internal/fault"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// A wording is one refusal of a provider as it stands on the wire.
type wording struct {
	name    string
	status  int
	message string // as opencode's log line and event give it
	body    string // empty: built from the message and the type
	typ     string // error.type of the body
	headers map[string]string
	want    outcome
	log     *outcome // for the log line, which has the message only; nil: the same
	reset   time.Duration

	poisoned bool
}

type outcome struct {
	kind      fault.Kind
	transient bool
}

var (
	quota     = outcome{kind: fault.QuotaExhausted}
	auth      = outcome{kind: fault.AuthRequired}
	model     = outcome{kind: fault.ModelUnavailable}
	failed    = outcome{kind: fault.RunFailed}
	transient = outcome{kind: fault.RunFailed, transient: true}
)

// wordings are what providers are known to say. Sources: the error pages of the providers' API documentation, and the
// wording that the scripted model server has; each group names its provider.
var wordings = []wording{
	// A session that holds what the provider refuses.
	{name: "encrypted reasoning", status: 400, message: "The encrypted content gAAA...xyz could not be verified. Reason: Encrypted content could not be decrypted or parsed.", typ: "invalid_request_error", want: failed, log: &failed, poisoned: true},
	{name: "anthropic signature", status: 400, message: "messages.3.content.0: Invalid `signature` in `thinking` block", typ: "invalid_request_error", want: failed, log: &failed, poisoned: true},
	{name: "anthropic image", status: 400, message: "messages.5.content.1.image.source.base64.data: image exceeds 5 MB maximum: 7340032 bytes > 5242880 bytes", typ: "invalid_request_error", want: failed, log: &failed, poisoned: true},
	{name: "lost result", status: 400, message: "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01", typ: "invalid_request_error", want: failed, log: &failed, poisoned: true},
	{name: "openai call", status: 400, message: "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.", typ: "invalid_request_error", want: failed, log: &failed, poisoned: true},
	// The scripted model's.
	{name: "err-400", status: 400, message: "Invalid value for 'messages'.", typ: "invalid_request_error", want: failed},
	{name: "err-401", status: 401, message: "Incorrect API key provided: sk-xxxx. You can find your API key at https://platform.openai.com/account/api-keys.",
		body: `{"error":{"message":"Incorrect API key provided: sk-xxxx.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, want: auth},
	{name: "err-401-empty", status: 401, message: "Unauthorized", body: " ", want: auth},
	{name: "err-402", status: 402, message: "Insufficient credits. Add more using https://openrouter.ai/settings/credits", want: quota},
	{name: "err-402-deepseek", status: 402, message: "Insufficient Balance", typ: "unknown_error", want: quota},
	{name: "err-403", status: 403, message: "Your account does not have access to this model.", typ: "permission_error", want: auth, log: &failed},
	{name: "err-404-model", status: 404, message: "The model 'nope' does not exist or you do not have access to it.", want: model},
	{name: "err-404-ollama", status: 404, message: `model "nope" not found, try pulling it first`, typ: "api_error", want: model},
	{name: "err-413", status: 413, message: "Request too large", typ: "request_too_large", want: failed},
	{name: "err-422", status: 422, message: "Unprocessable", typ: "invalid_request_error", want: failed},
	{name: "err-429", status: 429, message: "Rate limit reached for requests",
		body: `{"error":{"message":"Rate limit reached for requests","type":"requests","param":null,"code":"rate_limit_exceeded"}}`, want: transient},
	{name: "err-429-ra3600", status: 429, message: "Rate limit reached for requests", headers: map[string]string{"retry-after": "3600"}, want: transient},
	{name: "err-429-openai-quota", status: 429, message: "You exceeded your current quota, please check your plan and billing details.", typ: "insufficient_quota", want: quota},
	{name: "err-429-gemini", status: 429, message: "You exceeded your current quota, please check your plan and billing details.",
		body: `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED"}}`, want: quota},
	{name: "err-429-zai", status: 429, message: "Insufficient balance or no resource package. Please recharge.", body: `{"error":{"code":"1113","message":"Insufficient balance or no resource package. Please recharge."}}`, want: quota},
	{name: "err-429-zai-plan", status: 429, message: "Usage limit reached for 5 hour. Your limit will reset at 2026-11-29 20:00:00", body: `{"error":{"code":"1308","message":"Usage limit reached for 5 hour. Your limit will reset at 2026-11-29 20:00:00"}}`, want: quota},
	{name: "err-429-kimi", status: 429, message: "Your account org-xxx <ak-xxx> is suspended, please check your plan and billing details", typ: "exceeded_current_quota_error", want: quota},
	{name: "err-429-zen-go", status: 429, message: "5-hour usage limit reached. Resets in 2hr 10min. To continue using this model now, enable usage from your available balance: https://opencode.ai/workspace/wrk_TEST/go", typ: "GoUsageLimitError",
		headers: map[string]string{"retry-after": "7800"}, want: quota, reset: 130 * time.Minute},
	{name: "err-429-zen-go-week", status: 429, message: "Weekly usage limit reached. Resets in 3 days. To continue using this model now, enable usage from your available balance: https://opencode.ai/x", typ: "GoUsageLimitError", want: quota, reset: 72 * time.Hour},
	{name: "err-429-zen-go-ra1", status: 429, message: "5-hour usage limit reached. Resets in 2hr 10min.", typ: "GoUsageLimitError", headers: map[string]string{"retry-after": "1"}, want: quota, reset: 130 * time.Minute},
	{name: "err-429-zen-free", status: 429, message: "Rate limit exceeded. Please try again later.", typ: "FreeUsageLimitError", want: quota, log: &transient},
	{name: "err-429-zen-rate", status: 429, message: "Rate limit exceeded. Please try again later.", typ: "RateLimitError", want: transient},
	{name: "zen black", status: 429, message: "Subscription quota exceeded. Retry in 1hr 5min.", typ: "BlackUsageLimitError", want: quota, reset: 65 * time.Minute},
	{name: "zen translated", status: 429, message: "5時間の利用上限に達しました。", typ: "GoUsageLimitError", want: quota},
	{name: "zen translated to words unknown here", status: 429, message: "Lorem ipsum dolor sit amet.", typ: "GoUsageLimitError", want: quota, log: &failed},
	{name: "err-401-zen-credits", status: 401, message: "Insufficient balance. Manage your billing here: https://opencode.ai/workspace/wrk_TEST/billing", typ: "CreditsError", want: quota},
	{name: "err-401-zen-nopay", status: 401, message: "No payment method. Add a payment method here: https://opencode.ai/workspace/wrk_TEST/billing", typ: "CreditsError", want: quota},
	{name: "err-401-zen-monthly", status: 401, message: "Your workspace has reached its monthly spending limit of $20. Manage your limits here: https://opencode.ai/x", typ: "MonthlyLimitError", want: quota},
	{name: "err-401-zen-user", status: 401, message: "You have reached your monthly spending limit of $20. Manage your limits here: https://opencode.ai/x", typ: "UserLimitError", want: quota},
	{name: "err-401-zen-auth", status: 401, message: "Invalid API key.", typ: "AuthError", want: auth},
	{name: "err-401-zen-nokey", status: 401, message: "Missing API key.", typ: "AuthError", want: auth},
	{name: "zen blocked", status: 401, message: "Request blocked by upstream provider.", typ: "AuthError", want: auth, log: &failed},
	{name: "err-401-zen-model", status: 401, message: "Model nope is not supported", typ: "ModelError", want: model},
	{name: "err-401-zen-disabled", status: 401, message: "Model is disabled", typ: "ModelError", want: model},
	{name: "zen no provider", status: 401, message: "No provider available", typ: "ModelError", want: model},
	{name: "zen promotion", status: 401, message: "Free promotion has ended for glm-5", typ: "ModelError", want: model},
	{name: "err-403-zen-region", status: 403, message: "The latest version of this model is only available hosted in China and requires explicit opt in: https://opencode.ai/workspace/wrk_TEST/go", typ: "RegionError", want: model},
	{name: "err-400-anthropic-credit", status: 400, message: "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.", typ: "invalid_request_error", want: quota},
	{name: "err-403-usage", status: 403, message: "You've reached your usage limit for this billing cycle. Your quota will be refreshed in the next cycle. Upgrade to get more: https://www.kimi.com", typ: "access_terminated_error", want: quota},
	{name: "err-500", status: 500, message: "The server had an error while processing your request.", typ: "server_error", want: transient},
	{name: "err-502-html", status: 502, message: "Bad Gateway", body: "<html><head><title>502 Bad Gateway</title></head></html>", want: transient},
	{name: "err-503", status: 503, message: "Service Unavailable", typ: "server_error", want: transient},
	{name: "err-529", status: 529, message: "Overloaded", typ: "overloaded_error", want: transient},
	{name: "err-context", status: 400, message: "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. Please reduce the length of the messages.",
		body: `{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`, want: failed},
	{name: "sse-error-go", message: `{"message":"Weekly usage limit reached. Resets in 3 days. To continue, enable usage from your available balance: https://opencode.ai/x","type":"GoUsageLimitError"}`, body: " ", want: quota, reset: 72 * time.Hour},
	{name: "sse-error", message: `{"message":"Upstream provider failed mid-stream","type":"server_error","code":502}`, body: " ", want: transient},
	{name: "ok-error-body as text", message: "Weekly usage limit reached. Resets in 19hr", want: quota, reset: 19 * time.Hour},

	// OpenAI.
	{name: "openai tpm with billing advice", status: 429, typ: "tokens",
		message: "Rate limit reached for default-gpt-3.5 in organization org-x on requests per min. Limit: 3 / min. Please try again in 20s. Contact us through our help center. Please add a payment method to your account to increase your rate limit. Visit https://platform.openai.com/account/billing to add a payment method.", want: transient},
	{name: "openai rpd", status: 429, typ: "requests", message: "Rate limit reached for gpt-4 in organization org-x on requests per day (RPD): Limit 200, Used 200, Requested 1. Please try again in 7m12s.", want: transient},
	{name: "openai hard limit", status: 400, typ: "billing_hard_limit_reached", message: "Billing hard limit has been reached", want: quota},
	{name: "openai inactive", status: 429, typ: "billing_not_active", message: "Your account is not active, please check your billing details on our website.", want: quota},
	{name: "chatgpt plan", status: 429, message: "The usage limit has been reached", body: `{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","plan_type":"plus","resets_in_seconds":7200}}`, want: quota, reset: 2 * time.Hour},
	{name: "codex", status: 429, message: "You've hit your usage limit. Upgrade to Pro or try again in 5 days 3 hours 12 minutes.", want: quota, reset: 123*time.Hour + 12*time.Minute},
	{name: "openai region", status: 403, typ: "request_forbidden", message: "Country, region, or territory not supported", want: model},
	{name: "openai deprecated", status: 404, typ: "invalid_request_error", message: "The model `text-davinci-003` has been deprecated, learn more here: https://platform.openai.com/docs/deprecations", want: model},
	{name: "openai overloaded", status: 503, message: "The engine is currently overloaded, please try again later", want: transient},
	{name: "openai deactivated", status: 401, typ: "account_deactivated", message: "The OpenAI account associated with this API key has been deactivated.", want: auth},
	// Anthropic.
	{name: "anthropic rate", status: 429, typ: "rate_limit_error", message: "This request would exceed your organization's rate limit of 40,000 input tokens per minute (org: x, model: claude). For details, refer to: https://docs.claude.com/en/api/rate-limits. You can see the response headers for current usage. Please reduce the prompt length or the maximum tokens requested, or try again later. You may also contact sales to discuss your options for a rate limit increase.", want: transient},
	{name: "anthropic usage", status: 400, typ: "invalid_request_error", message: "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.", want: quota, reset: 36 * time.Hour},
	{name: "anthropic key", status: 401, typ: "authentication_error", message: "invalid x-api-key", want: auth},
	{name: "anthropic organisation", status: 400, typ: "invalid_request_error", message: "This organization has been disabled.", want: auth},
	{name: "anthropic model", status: 404, typ: "not_found_error", message: "model: claude-9-opus", want: model},
	{name: "anthropic prompt", status: 400, typ: "invalid_request_error", message: "prompt is too long: 210000 tokens > 200000 maximum", want: failed},
	{name: "claude subscription", status: 429, message: "Claude AI usage limit reached|1795960800", want: quota, reset: 2 * time.Hour},
	{name: "claude session", status: 429, message: "You've hit your limit · resets 3pm (America/New_York)", want: quota},
	// OpenRouter.
	{name: "openrouter afford", status: 402, message: "This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only afford 1234.", want: quota},
	{name: "openrouter key", status: 403, message: "Key limit exceeded (monthly limit). Manage it using https://openrouter.ai/settings/keys", want: quota},
	{name: "openrouter free", status: 429, message: "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day", want: quota},
	{name: "openrouter free minute", status: 429, message: "Rate limit exceeded: free-models-per-min. ", want: transient},
	{name: "openrouter upstream", status: 429, message: "Provider returned error", body: `{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"x/y:free is temporarily rate-limited upstream. Please retry shortly, or add your own key to accumulate your rate limits","provider_name":"Chutes"}}}`, want: transient, log: &failed},
	{name: "openrouter endpoints", status: 404, message: "No endpoints found for x/y.", want: model},
	{name: "openrouter policy", status: 404, message: "No endpoints found matching your data policy (Free model publication). Configure: https://openrouter.ai/settings/privacy", want: model},
	{name: "openrouter id", status: 400, message: "x/y is not a valid model ID", want: model},
	{name: "openrouter auth", status: 401, message: "No auth credentials found", want: auth},
	{name: "openrouter user", status: 401, message: "User not found.", want: auth, log: &failed},
	// Google.
	{name: "gemini key", status: 400, message: "API key not valid. Please pass a valid API key.", body: `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`, want: auth},
	{name: "gemini key expired", status: 400, message: "API key expired. Please renew the API key.", want: auth},
	{name: "gemini model", status: 404, message: "models/gemini-9 is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.", want: model},
	{name: "gemini region", status: 400, message: "User location is not supported for the API use.", want: model},
	{name: "gemini overload", status: 503, message: "The model is overloaded. Please try again later.", want: transient},
	{name: "gemini quota", status: 429, message: "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits. \n* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 50\nPlease retry in 43.5s.", want: quota, reset: 43500 * time.Millisecond},
	{name: "vertex exhausted", status: 429, message: "Resource exhausted. Please try again later. Please refer to https://cloud.google.com/vertex-ai/generative-ai/docs/error-code-429 for more details.", want: transient},
	{name: "gemini disabled", status: 403, message: "Generative Language API has not been used in project 1 before or it is disabled.", want: auth, log: &failed},
	// Mistral, Groq, DeepSeek, xAI.
	{name: "mistral rate", status: 429, message: "Requests rate limit exceeded", want: transient},
	{name: "mistral capacity", status: 429, typ: "service_tier_capacity_exceeded", message: "Service tier capacity exceeded for this model.", want: transient},
	{name: "mistral model", status: 400, typ: "invalid_model", message: "Invalid model: foo", want: model},
	{name: "mistral auth", status: 401, message: "Unauthorized", want: auth},
	{name: "mistral subscription", status: 401, message: "Inactive subscription or usage limit reached", want: quota},
	{name: "groq tpd", status: 429, typ: "tokens", message: "Rate limit reached for model `llama` in organization `org` service tier `on_demand` on tokens per day (TPD): Limit 100000, Used 99999, Requested 1000. Please try again in 12m3.5s. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing", want: transient},
	{name: "groq model", status: 400, typ: "invalid_request_error", message: "The model `mixtral-8x7b-32768` has been decommissioned and is no longer supported. Please refer to https://console.groq.com/docs/deprecations for a recommendation on which model to use instead.", want: model},
	{name: "groq key", status: 401, message: "Invalid API Key", want: auth},
	{name: "groq spend", status: 429, typ: "blocked_api_access", message: "API access blocked: your organization has reached its spend limit", want: quota},
	{name: "deepseek auth", status: 401, typ: "authentication_error", message: "Authentication Fails, Your api key: ****1234 is invalid", want: auth},
	{name: "deepseek model", status: 400, message: "Model Not Exist", want: model},
	{name: "deepseek rate", status: 429, message: "Rate Limit Reached", want: transient},
	{name: "deepseek busy", status: 503, message: "The server is busy. Please try again later.", want: transient},
	{name: "xai credits", status: 403, message: "Your team 123 has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit.", want: quota},
	{name: "xai key", status: 400, message: "Incorrect API key provided: xa***00. You can obtain an API key from https://console.x.ai.", want: auth},
	{name: "xai model", status: 404, message: "The model grok-9 does not exist or your team does not have access to it.", want: model},
	{name: "xai new team", status: 403, message: "Your newly created team doesn't have any credits yet. You can purchase credits on https://console.x.ai", want: quota},
	// Z.ai, Moonshot, MiniMax, Alibaba, Volcengine.
	{name: "zai week", status: 429, message: "Weekly/Monthly Limit Exhausted. Your limit will reset at 2026-12-01 00:00:00", body: `{"error":{"code":"1310","message":"Weekly/Monthly Limit Exhausted. Your limit will reset at 2026-12-01 00:00:00"}}`, want: quota},
	{name: "zai expired", status: 429, message: "Your GLM Coding Plan package has expired", body: `{"error":{"code":"1309","message":"Your GLM Coding Plan package has expired"}}`, want: quota},
	{name: "zai concurrency", status: 429, message: "High concurrency usage of this API, please reduce concurrency or contact customer service to increase limits", body: `{"error":{"code":"1302","message":"High concurrency usage of this API"}}`, want: transient},
	{name: "zai unknown model", status: 400, message: "Unknown Model, please check the model code.", body: `{"error":{"code":"1211","message":"Unknown Model, please check the model code."}}`, want: model},
	{name: "zai balance in Chinese", status: 429, message: "余额不足或无可用资源包,请充值。", body: `{"error":{"code":"1113","message":"余额不足或无可用资源包,请充值。"}}`, want: quota},
	{name: "zai token", status: 401, message: "Authentication Token expired", body: `{"error":{"code":"1003","message":"Authentication Token expired"}}`, want: auth},
	{name: "moonshot rpm", status: 429, typ: "rate_limit_reached_error", message: "Your account org-x<ak-x> request reached organization max RPM: 3, please try again after 1 seconds", want: transient},
	{name: "moonshot concurrency", status: 429, typ: "rate_limit_reached_error", message: "Your account reached organization max concurrency: 1, please try again after 1 seconds", want: transient},
	{name: "moonshot model", status: 404, typ: "resource_not_found_error", message: "Not found the model moonshot-v9 or Permission denied", want: model},
	{name: "moonshot auth", status: 401, typ: "invalid_authentication_error", message: "Invalid Authentication", want: auth},
	{name: "moonshot engine", status: 429, typ: "engine_overloaded_error", message: "The engine is currently overloaded, please try again later", want: transient},
	{name: "moonshot context", status: 400, typ: "invalid_request_error", message: "Invalid request: Your request exceeded model token limit: 131072", want: failed},
	{name: "kimi agents only", status: 403, typ: "access_terminated_error", message: "Kimi For Coding is currently only available for Coding Agents such as Kimi CLI.", want: auth, log: &failed},
	{name: "alibaba arrears", status: 400, typ: "Arrearage", message: "Access denied, please make sure your account is in good standing.", want: quota, log: &failed},
	{name: "alibaba free", status: 403, typ: "AllocationQuota.FreeTierOnly", message: "The free tier of the model has been exhausted. If you wish to continue access the model on a paid basis, please disable the \"use free tier only\" mode.", want: quota, log: &failed},
	{name: "volcengine overdue", status: 403, typ: "AccountOverdueError", message: "The request failed because your account has an overdue balance.", want: quota},
	{name: "minimax login", status: 401, message: "login fail: Please carry the API secret key in the 'Authorization' field of the request header", want: auth},
	// Azure, Bedrock, Copilot, GitHub, Cerebras, Cloudflare, Vercel, Ollama, Fireworks, Hugging Face.
	{name: "azure rate", status: 429, message: "Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-02-01 have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 26 seconds. Please go here: https://aka.ms/oai/quotaincrease if you would like to further increase the default rate limit.", want: transient},
	{name: "azure key", status: 401, message: "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.", want: auth},
	{name: "azure deployment", status: 404, typ: "DeploymentNotFound", message: "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again.", want: model},
	{name: "azure filter", status: 400, typ: "content_filter", message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.", want: failed},
	{name: "azure volume", status: 403, message: "Out of call volume quota. Quota will be replenished in 02:30:00.", want: quota, reset: 150 * time.Minute},
	{name: "bedrock throttle", status: 429, message: "Too many requests, please wait before trying again.", want: transient},
	{name: "bedrock tokens", status: 429, message: "Too many tokens, please wait before trying again.", want: transient, log: &failed},
	{name: "bedrock quota", status: 400, typ: "ServiceQuotaExceededException", message: "Your request exceeds the service quota for your account.", want: quota},
	{name: "bedrock token", status: 403, message: "The security token included in the request is invalid.", want: auth},
	{name: "bedrock model", status: 400, message: "The provided model identifier is invalid.", want: model},
	{name: "bedrock profile", status: 400, message: "Invocation of model ID anthropic.claude with on-demand throughput isn't supported. Retry your request with the ID or ARN of an inference profile that contains this model.", want: model},
	{name: "bedrock region", status: 400, message: "Access to Anthropic models is not allowed from unsupported countries, regions, or territories.", want: model},
	{name: "bedrock context", status: 400, message: "Input is too long for requested model.", want: failed},
	{name: "copilot premium", status: 402, message: "You have exceeded your premium request allowance", want: quota},
	{name: "copilot weekly", status: 429, message: "Sorry, you've exceeded your weekly rate limit. Please upgrade your plan or wait for your limit to reset.", want: quota},
	{name: "copilot rate", status: 429, message: "Sorry, you have been rate-limited. Please wait a moment before trying again.", want: transient},
	{name: "copilot model", status: 400, typ: "model_not_supported", message: "The requested model is not supported.", want: model},
	{name: "copilot token", status: 401, message: "IDE token expired: unauthorized: token expired", want: auth},
	{name: "github models", status: 429, typ: "RateLimitReached", message: "Rate limit of 50 per 86400s exceeded for UserByModelByDay. Please wait 12345 seconds before retrying.", want: transient},
	{name: "cerebras minute", status: 429, typ: "request_quota_exceeded", message: "Requests per minute limit exceeded - too many requests sent.", want: transient},
	{name: "cloudflare", status: 429, message: "you have used up your daily free allocation of 10,000 neurons, please upgrade to Cloudflare's Workers Paid plan if you would like to continue usage.", want: quota},
	{name: "vercel", status: 403, typ: "customer_verification_required", message: "AI Gateway requires a valid credit card on file to service requests.", want: quota},
	{name: "ollama cloud", status: 429, message: "you've reached your hourly usage limit, please upgrade to continue", want: quota},
	{name: "fireworks", status: 412, message: "Account x is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices.", want: quota},
	{name: "hugging face", status: 402, message: "You have exceeded your monthly included credits for Inference Providers. Subscribe to PRO to get 20x more monthly included credits.", want: quota},
	{name: "issue 56", status: 500, message: "This model is deprecated and no longer available", want: model},
	{name: "plain plan", status: 403, message: "This feature is not part of your plan", want: quota},
	// A limit that is called nothing more than a limit.
	{name: "bare limit", status: 429, message: "Limit reached: 60 requests", want: transient, log: &failed},
	{name: "bare limit 2", status: 429, message: "You have reached the request limit. Limit: 100, remaining: 0.", want: transient},
	{name: "too many", status: 429, message: "Too Many Requests", want: transient},
	// Transport.
	{name: "refused", message: "Cannot connect to API: Unable to connect. Is the computer able to access the url?", want: transient},
	{name: "reset", message: "Cannot connect to API: The socket connection was closed unexpectedly.", want: transient},
	{name: "captive", status: 511, message: "Network Authentication Required", body: "<html></html>", want: transient, log: &auth},
	{name: "garbage", message: "JSON parsing failed: Text: {\"id\": \"x\", \"choices\": [{.\nError message: JSON Parse error: Expected '}'", body: " ", want: failed},
	{name: "bare 404", status: 404, message: "Not Found", body: "404 page not found", want: failed},
}

func TestNamesAndAddressesAreNoWording(t *testing.T) {
	for _, c := range []struct {
		ev   Evidence
		want outcome
	}{
		{Evidence{Message: "Forbidden. See https://example.org/docs/quota-and-billing", Status: 403}, auth},
		{Evidence{Message: "The model 'quota-7b' does not exist", Status: 404}, model},
		{Evidence{Message: "The model `usage-limit` does not exist"}, model},
		{Evidence{Message: "Model usage-limit-1 is not supported", Model: "mock/usage-limit-1"}, model},
		{Evidence{Message: "Overloaded", Model: "mock/err-401"}, transient},
		{Evidence{Message: "Invalid prompt for insufficient_quota.v2", Status: 400, Model: "mock/insufficient_quota.v2"}, failed},
	} {
		f, _ := Classify(c.ev)
		if got := (outcome{f.Kind, f.Transient}); got != c.want {
			t.Errorf("%q: %+v, want %+v", c.ev.Message, got, c.want)
		}
	}
}

func TestReasonsAreOneCleanLine(t *testing.T) {
	f, _ := Classify(Evidence{Message: "a\x1b[31mb\x1b[0m\r\nc\u202ed\u200b\x00\te\xff" + strings.Repeat("é", 1000), Status: 400, At: noon})
	if !strings.HasPrefix(f.Reason, "the provider refused the request (HTTP 400): ab cd e\uFFFDé") || utf8.RuneCountInString(f.Reason) != 300 || !strings.HasSuffix(f.Reason, "é…") {
		t.Errorf("%q", f.Reason)
	}
}

func (w wording) wire() string {
	if w.body != "" {
		return strings.TrimSpace(w.body)
	}
	var b struct {
		Error struct {
			Message string `json:"message"`
			Type    string `json:"type,omitempty"`
		} `json:"error"`
	}
	b.Error.Message, b.Error.Type = w.message, w.typ
	text, _ := json.Marshal(b)
	return string(text)
}

func TestEveryWordingAsAnEvent(t *testing.T) {
	for _, w := range wordings {
		t.Run(w.name, func(t *testing.T) {
			name := "APIError"
			if w.status == 0 {
				name = "UnknownError"
			}
			ev := FromEvent(event.Event{Type: event.Failure, At: noon, Err: event.Err{Name: name, Message: w.message, Status: w.status, Body: w.wire(), Headers: w.headers}}, noon)
			got, _ := Classify(ev)
			checkFault(t, got, w.want, w.reset)
			if errors.Is(got, ErrSessionPoisoned) != w.poisoned {
				t.Errorf("poisoned: %v, want %v", !w.poisoned, w.poisoned)
			}
			if got.ProviderStatus != w.status && w.status != 0 {
				t.Errorf("provider status %d, want %d", got.ProviderStatus, w.status)
			}
		})
	}
}

func TestEveryWordingAsALogLine(t *testing.T) {
	for _, w := range wordings {
		t.Run(w.name, func(t *testing.T) {
			quoted, _ := json.Marshal("AI_APICallError: " + w.message)
			line := ParseLogLine([]byte(`timestamp=2026-11-29T12:00:00.000Z level=ERROR run=1a539763 message="stream error" providerID=mock modelID=err-401 session.id=ses_1 small=false agent=build mode=primary error.error=` + string(quoted)))
			if line.Kind != LogStreamError {
				t.Fatalf("kind %d of the line", line.Kind)
			}
			want, reset := w.want, w.reset
			if w.log != nil {
				want = *w.log
			}
			if strings.Contains(w.body, "resets_in_seconds") {
				reset = 0 // only the event has the body
			}
			got, _ := Classify(FromLog(line, time.Time{}))
			checkFault(t, got, want, reset)
			if !strings.Contains(got.Reason, "mock/err-401") {
				t.Errorf("reason %q does not name the model", got.Reason)
			}
		})
	}
}

func checkFault(t *testing.T, got *fault.Error, want outcome, reset time.Duration) {
	t.Helper()
	if got.Kind != want.kind || got.Transient != want.transient {
		t.Errorf("got %s transient=%v, want %s transient=%v\n%s", got.Kind, got.Transient, want.kind, want.transient, got.Reason)
	}
	var wantReset time.Time
	if reset != 0 {
		wantReset = noon.Add(reset).Truncate(time.Second)
	}
	if !got.ResetAt.Equal(wantReset) {
		t.Errorf("reset at %v, want %v", got.ResetAt, wantReset)
	}
	if n := utf8.RuneCountInString(got.Reason); n == 0 || n > 300 || strings.ContainsAny(got.Reason, "\n\r\x1b") {
		t.Errorf("reason of %d runes: %q", n, got.Reason)
	}
}
