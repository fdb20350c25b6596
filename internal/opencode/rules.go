package opencode

import (
	"slices"
	"strings"

	"opencode-delegate/internal/lazyregexp"

	"opencode-delegate/internal/fault"
)

// A rule maps evidence to a fault. All conditions that it names must hold.
type rule struct {
	what      string // what happened, for the reason; the model and the provider's words are added
	kind      fault.Kind
	transient bool
	poisoned  bool // the session itself holds what the provider refuses: every continuation meets it again
	vague     bool // recognised, but it says nothing: other evidence is better

	names    []string            // error.name
	types    []string            // types and codes of the body, lower case
	statuses []int               // HTTP status
	words    lazyregexp.Regexp   // in the provider's message, addresses removed
	unless   []lazyregexp.Regexp // nor any of these
}

func (r rule) matches(ev Evidence, words string) bool {
	if r.poisoned { // the quoted names are members of a request here, which nobody chose
		words = ev.Message[:min(len(ev.Message), 16<<10)]
	}
	if r.names != nil && !slices.Contains(r.names, ev.Name) {
		return false
	}
	if r.types != nil && !slices.ContainsFunc(ev.Types, func(t string) bool { return slices.Contains(r.types, t) }) {
		return false
	}
	if r.statuses != nil && !slices.Contains(r.statuses, ev.Status) {
		return false
	}
	if r.words != nil && !r.words().MatchString(words) {
		return false
	}
	return !slices.ContainsFunc(r.unless, func(p lazyregexp.Regexp) bool { return p().MatchString(words) })
}

// What the reasons say happened.
const (
	whatQuota    = "usage limit or billing"
	whatAuth     = "not authenticated, or access refused"
	whatModel    = "the model is not available"
	whatRate     = "rate limit"
	whatOverload = "the provider is overloaded or failing"
	whatNetwork  = "the provider could not be reached"
	whatContext  = "the context window is full"
	whatRefused  = "the provider refused the request"
	whatFilter   = "the provider's content filter stopped the reply"
	whatPoisoned = "the session holds content that the provider refuses"
)

// words compiles alternatives of wording, case aside.
func words(alternatives ...string) lazyregexp.Regexp {
	return lazyregexp.New(`(?i)` + strings.Join(alternatives, "|"))
}

// Words of the kinds. Providers are named where a wording is peculiar to one.
var (
	// A limit on use over hours to months, or money, named as such. These hold even beside the words of a rate limit.
	quotaWords = words(
		`usage[ _-]?limits?\b`, `\bquotas?\b`, `billing (hard )?limit`, `spend(ing)?[ _-](limit|cap|alert)`, `credit limit`,
		`insufficient (account )?(balance|funds?|credits?|quota)`, `\b(credit|account|overdue|prepaid|api)? ?balance (is |was )?(too low|insufficient|exhausted|depleted|empty|not enough|overdue)`,
		`not enough (credits?|balance|funds)`, `(out of|no|used (up )?(all|your)) (\w+ )?extra usage`, `\bbudget\b.{0,60}(exceeded|exhausted|reached|used up)`, `(exceeded|exhausted|over|reached)( \w+){0,4} budget\b`, `(requests?|tokens?)[ -]per[ -](day|week|month) (limit|quota|cap)`, `inference limit`, `\ballowance (exceeded|exhausted|used up)`, `\bout of (funds|money|tokens)\b`, `\bprepaid\b.{0,40}(depleted|exhausted|empty)`, `(out of|used (up )?(all|your)|used all|no (more |remaining )?|exhausted|(doesn't|does not|don't|do not) have any|requires? more|ran out of|run out of)( \w+){0,3} credits?\b`,
		`credits?( \w+){0,3} (exhausted|depleted|used up|too low|exceeded|expired)`, `credit balance`, `overdue balance`, `arrears|arrearage`,
		`billing cycle`, `premium request`, `request allowance`, `free allocat(ion|ed)`, `free-models-per-day`, `free tier (limit|exhausted)`, `trial (has )?(ended|expired)`,
		`\b(\d+|five|twenty-four)[ -]?hour (usage )?(limit|allowance)`, `\b(daily|weekly|monthly|weekly/monthly) (usage |rate |spend |request |token |call )?(limit|allowance|cap)\b`,
		`(hit|reached|exceeded) your limit`, `key limit exceeded`, `(subscription|plan|package|resource package) (has |is )?(expired|ended|exhausted|used up)`, `limit exhausted`,
		`no payment method`, `payment required`, `add (a )?(valid )?(payment method|credit card) to (continue|use)`, `valid credit card`,
		`余额不足`, `欠费`, `额度`, `配额`, `套餐`, `使用上限`, `充值`, `利用上限`, `クォータ`, `残高`, `사용량 한도`, `할당량`, `크레딧`, `límite de uso`, `limite d['’]utilisation`, `nutzungslimit`, `limite de uso`, `guthaben`, `saldo insuf`, `solde insuffisant`, `лимит использования`, `недостаточно средств`)
	// Money and plans, mentioned. Rate limits mention them too, as the way to a higher limit.
	moneyWords = words(`\bbilling\b`, `\bcredits?\b`, `\bbalance\b`, `payment`, `\b(your|current|subscription|coding|free|paid|pro|plus|team|higher) plan\b`, `\bplan (limit|does|doesn't|includes?|has)`, `plans &`, `\bupgrade to\b`, `\brecharge\b`, `top[ -]?up`, `\bsubscri(be|ption)\b`)

	// A quota or limit of a minute or less passes by itself, and one of a longer time does not.
	shortWords = words(`\b(quotas?|limits?)\b.{0,160}[ _-]per[ _-](second|sec|minute|min)`, `[ _-]per[ _-](second|sec|minute|min)(\b|_).{0,160}\b(quotas?|limits?)\b`, `\b(quota|limit)\b.{0,80}/ ?(min|minute|sec|second)\b`)
	longWords  = words(`per[ _-](hour|day|week|month|year)`, `\b(hourly|daily|weekly|monthly|yearly)\b`, `PerDay|PerMonth`, `usage[ _-]?limit`, `billing`, `insufficient`, `balance`, `credits? (exhausted|depleted)`)
	// What the machine that speaks ran out of, and what a request was found wrong in: words there are names that somebody chose.
	localWords  = words(`disk quota`, `\bEDQUOT\b`, `\bENOSPC\b`, `no space left`, `file ?system quota`, `inode quota`)
	schemaWords = words(`\bschemas?\b`, `\bfunctions?\b.{0,80}(\bname|\bparameters?|\barguments?|\bpropert)`, `\btools?\b.{0,160}\b(parameters?|arguments?|propert|name)`, `\btools?[.\[]\d`)

	rateWords = words(
		`rate[ -_]?limit`, `too many (concurrent )?requests`, `throttl`, `(requests?|tokens?)[ -]per[ -](second|sec|minute|min|hour|day)`, `\b(TPM|RPM|RPD|TPD|RPS)\b`, `\bper[ -]minute\b`,
		`concurrency`, `request limit`, `max(imum)? (rpm|tpm)`, `too many tokens per`, `rate exceeded`, `slow down`, `try again (later|in|after)`, `请求过于频繁`, `速率限制`, `频率`, `レート制限`, `속도 제한`)

	authWords = words(
		`(incorrect|invalid|missing|expired|revoked|no|bad|wrong|malformed|unknown|disabled) (x-)?(api|auth|access|security|subscription|authentication|bearer)?[ -]?(key|token|credential|credentials|authentication)\b`,
		`api key( \S+)? (is |was |has )?(been )?(not valid|invalid|expired|missing|required|not found|revoked|disabled|incorrect)`, `api_key_invalid`, `no (auth|api) (credentials|key)`, `(security )?token( \w+){0,5} (is |has )?(invalid|expired)`, `authentication (fail|error|required|token)`,
		`unauthori[sz]ed`, `unauthenticated`, `not (authenticated|logged in|authori[sz]ed)`, `login (fail|required|expired)`, `please (log ?in|sign in|authenticate)`, `oauth token`, `organization has been (disabled|restricted)`, `account( \S+){0,7} (is |has been )?(deactivated|disabled|banned)`,
		`could not (resolve|load) (authentication|credentials)`, `api key is missing`, `密钥|鉴权|认证失败|身份验证`)

	// A model is named as missing. "model" and the verdict stand near to each other.
	modelWords = words(
		`\bmodels?\b[^.!?]{0,120}?\b(not found|not exist|doesn't exist|unknown|not supported|unsupported|not available|unavailable|no longer (available|supported|exists|offered)|(is|been|was) (disabled|deprecated|decommissioned|withdrawn|retired|removed|discontinued|sunset|shut down)|deprecated|end of (its )?life|not (enabled|activated|open|valid|accessible|offered)|is legacy)`,
		`\b(unknown|invalid|unsupported|no such|not found the|non-?existent|unrecogni[sz]ed|deprecated) (model|deployment)`, `\bnot a valid model\b`, `model identifier is invalid`, `\bmodel[_ -]not[_ -](found|exist)`, `model not exist`,
		`no (endpoints|allowed providers|available channel|providers?) (found|are available|available|for)`, `no provider available`, `promotion has ended`, `on-demand throughput isn't supported`, `is not found for api version`, `try pulling it first`,
		`^model: \S+$`, `模型不存在`, `不支持该模型`, `モデル.{0,20}(見つかり|存在し)`)
	// A deployment is a model; the advice to try again that Azure adds does not make it one that passes.
	placeWords = words(
		`access to the model with the specified model id`,
		`(deployment|endpoint) [^.]{0,80}(does not exist|not found)`,
		`(country|countries|region|regions|territor(y|ies)|location)\b[^.]{0,60}\b(not|isn't|un)[ -]?(supported|available|allowed|permitted)`, `(not|un)[ -]?(supported|available|allowed|permitted)\b[^.]{0,60}\b(country|countries|region|regions|territor(y|ies)|location)\b`,
		`only available( \w+){0,3} in `, `requires explicit opt[ -]in`, `region[- ]lock`)
	passing = words(`temporar`, `currently (overloaded|unavailable|experiencing|at capacity|busy)`, `overload`, `at capacity`, `high demand`, `try again`, `busy`, `maintenance`)

	contextWords = words(
		`context[ _-]?(length|window|limit|size)`, `maximum context`, `(prompt|input|request|conversation)( \w+){0,4} (is |are )?too (long|large|big)`, `exceeds?( \w+){0,6} (token limit|context|maximum (number of )?tokens)`, `exceeded model token limit`, `reduce the length`, `too many (input )?tokens`, `payload too large`, `input length`, `上下文`)
	overloadWords = words(
		`overload`, `server (had an |has an )?error`, `internal (server )?error`, `bad gateway`, `service (is )?(temporarily )?unavailable`, `gateway time-?out`, `server is busy`, `(at|over|insufficient) capacity`, `capacity exceeded`, `high demand`, `upstream (provider )?(failed|error|connect)`, `resource[ _]?(has been )?exhausted`, `not ready`, `try again later`, `temporarily unavailable`, `系统繁忙|服务器繁忙|过载`)
	networkWords = words(
		`econnre(set|fused)`, `econnaborted`, `epipe`, `etimedout`, `enotfound`, `eai_again`, `getaddrinfo`, `socket (hang up|connection)`, `connection (was )?(reset|closed|refused|lost|error|terminated)`, `unable to connect`, `cannot connect to api`, `fetch failed`, `network (error|is unreachable)`, `timed? ?out`, `\bterminated\b`, `premature close`, `aborted`, `response body object`)
	// What a session carries along and a provider will not take again: reasoning that another key or model had encrypted or signed,
	// pictures, and calls of tools whose results were lost.
	poisonWords = words(
		`encrypted[_ ]content`, `(invalid|missing|unexpected) (thinking )?[`+"`'"+`]?signature`, `thinking.{0,60}(cannot be modified|must be passed back|signature)`, `thought[_ ]signature`,
		`image.{0,80}(exceed|too (large|big|many|small)|could not (be )?(process|decode)|dimension|valid image|unsupported)`, `could not process image`, `(too many|at most \d+|maximum of \d+) images`,
		`tool_(use|result|calls?).{0,120}(without|corresponding|must (be followed|have)|did not have|does not match|not found in)`, `no tool (call|output) found for`, `reasoning.{0,60}without its required following item`)
	unexplained = words(`^unexpected (server )?error\b.*\blogs?\b`)
	filterWords = words(`content (management policy|filter|policy|moderation)`, `safety (system|settings|filter|reasons)`, `flagged`, `responsible ai`, `不安全或敏感`, `敏感内容`)
)

// rules decide a fault, first match first: what a type or code says outright, then wording that no status can
// outweigh, then the status, then wording of the weaker kinds. Types are matched before words because messages are
// translated by the caller's locale, types never.
var rules = []rule{
	// opencode's own server failed and keeps the reason for its log. Its word "server error" is no provider's.
	{what: "opencode failed before it could call the model", kind: fault.RunFailed, vague: true, words: unexplained},

	// Names that opencode gives.
	{what: whatModel, kind: fault.ModelUnavailable, names: []string{"ProviderModelNotFoundError", "ModelNotFoundError", "AI_NoSuchModelError"}},
	{what: whatContext, kind: fault.RunFailed, names: []string{"ContextOverflowError", "MessageContextOverflowError"}},
	{what: "the reply was cut off by length", kind: fault.Incomplete, names: []string{"MessageOutputLengthError"}},
	{what: "the run was aborted", kind: fault.Incomplete, names: []string{"MessageAbortedError", "AbortError"}},
	{what: "a permission was refused", kind: fault.PermissionDenied, names: []string{"PermissionRejectedError", "PermissionDeniedError"}},

	{what: whatPoisoned, kind: fault.RunFailed, poisoned: true, types: []string{"invalid_encrypted_content", "image_too_large", "invalid_image"}},
	{what: whatPoisoned, kind: fault.RunFailed, poisoned: true, statuses: []int{400, 413, 422}, words: poisonWords},

	// Types and codes of provider bodies.
	{what: whatQuota, kind: fault.QuotaExhausted, types: []string{
		"gousagelimiterror", "freeusagelimiterror", "blackusagelimiterror", "subscriptionusagelimiterror", "creditserror", "monthlylimiterror", "userlimiterror", // OpenCode Zen and Go
		"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "usage_limit_reached", "usage_limit_exceeded", "usage_not_included", // OpenAI
		"billing_error", "exceeded_current_quota_error", "insufficient_user_quota", "insufficient_balance", "insufficient_credits", "payment_required", "quota_exceeded", "quotaexceeded",
		"servicequotaexceededexception", "budget_exceeded", "budgetexceeded", "setlimitexceeded", "minimax-1008", "minimax-2056", "arrearage", "allocationquota.freetieronly", "accountoverdueerror", "token_quota_exceeded", "customer_verification_required", "organization_quota_exceeded",
		"1113", "1304", "1308", "1309", "1310"}}, // Z.ai: balance, calls of a day, 5 hours, package expired, week or month
	{what: whatAuth, kind: fault.AuthRequired, types: []string{
		"autherror", "invalid_api_key", "authentication_error", "invalid_authentication_error", "incorrect_api_key_error", "api_key_invalid", "unauthenticated", "account_deactivated",
		"unrecognizedclientexception", "expiredtokenexception", "invalidapikey", "organization_restricted", "missing_api_key", "minimax-1004", "minimax-2049", "1000", "1001", "1002", "1003", "1004"},
		unless: []lazyregexp.Regexp{quotaWords}},
	{what: whatModel, kind: fault.ModelUnavailable, types: []string{
		"modelerror", "regionerror", "model_not_found", "model_not_supported", "model_not_available", "model_decommissioned", "model_deprecated", "invalid_model", "deploymentnotfound", "resource_not_found_error",
		"unsupported_country_region_territory", "invalidendpointormodel.notfound", "modelnotopen", "modelnotfound", "1211"}},
	{what: whatRate, kind: fault.RunFailed, transient: true, types: []string{"minimax-1002", "minimax-1039", "minimax-1041"}},
	{what: whatOverload, kind: fault.RunFailed, transient: true, types: []string{"minimax-1000", "minimax-1001", "minimax-1013", "minimax-1024", "minimax-1033"}},
	{what: whatFilter, kind: fault.RunFailed, types: []string{"minimax-1026", "minimax-1027"}},
	{what: whatContext, kind: fault.RunFailed, types: []string{"context_length_exceeded", "request_too_large", "string_above_max_length", "1261"}, unless: []lazyregexp.Regexp{rateWords}},
	{what: whatRate, kind: fault.RunFailed, transient: true, types: []string{"1302", "1303", "1305", "1312"}},
	{what: whatFilter, kind: fault.RunFailed, types: []string{"content_filter", "content_policy_violation", "1301"}},

	// Wording that says what no status says: money comes as 400, 401, 402, 403, 404 and 429.
	{what: whatRate, kind: fault.RunFailed, transient: true, words: words(`rate[ -_]?limit (reached|exceeded) for\b`), unless: []lazyregexp.Regexp{words(`usage[ _-]?limit`, `exceeded your current quota`)}},
	{what: whatRate, kind: fault.RunFailed, transient: true, words: shortWords, unless: []lazyregexp.Regexp{longWords, localWords}},
	{what: whatQuota, kind: fault.QuotaExhausted, words: quotaWords, unless: []lazyregexp.Regexp{words(`quotaincrease`, `(thinking|reasoning)[ _]budget`), localWords, schemaWords}},
	{what: whatQuota, kind: fault.QuotaExhausted, words: moneyWords, unless: []lazyregexp.Regexp{rateWords, authWords, modelWords, localWords, schemaWords}},
	{what: whatQuota, kind: fault.QuotaExhausted, statuses: []int{402}},

	{what: whatModel, kind: fault.ModelUnavailable, words: placeWords},
	{what: whatModel, kind: fault.ModelUnavailable, words: modelWords, unless: []lazyregexp.Regexp{passing, rateWords, words(`access to (this|the) model`)}},

	// What the status says. 511 is a captive portal's, between us and the provider.
	{what: whatNetwork, kind: fault.RunFailed, transient: true, statuses: []int{511}},
	{what: whatRate, kind: fault.RunFailed, transient: true, statuses: []int{429}},
	{what: whatAuth, kind: fault.AuthRequired, statuses: []int{401, 403}},
	{what: whatAuth, kind: fault.AuthRequired, names: []string{"ProviderAuthError", "AI_LoadAPIKeyError"}},
	{what: whatRate, kind: fault.RunFailed, transient: true, words: rateWords, unless: []lazyregexp.Regexp{contextWords}},
	{what: whatAuth, kind: fault.AuthRequired, words: authWords, unless: []lazyregexp.Regexp{rateWords}},
	{what: whatContext, kind: fault.RunFailed, words: contextWords},
	{what: whatContext, kind: fault.RunFailed, statuses: []int{413}},
	{what: whatOverload, kind: fault.RunFailed, transient: true, statuses: []int{408, 425, 499, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529}},
	{what: whatRate, kind: fault.RunFailed, transient: true, types: []string{"rate_limit_error", "rate_limit_exceeded", "ratelimiterror", "rate_limit_reached_error", "throttlingexception", "ratelimitreached", "too_many_requests", "requests", "tokens"}},
	{what: whatOverload, kind: fault.RunFailed, transient: true, types: []string{"overloaded_error", "engine_overloaded_error", "server_error", "internal_server_error", "service_unavailable", "unavailable", "resource_exhausted", "internalserverexception", "serviceunavailableexception", "modelnotreadyexception", "service_tier_capacity_exceeded"}},
	{what: whatFilter, kind: fault.RunFailed, words: filterWords},
	{what: whatOverload, kind: fault.RunFailed, transient: true, words: overloadWords},
	{what: whatNetwork, kind: fault.RunFailed, transient: true, words: networkWords},
	{what: whatRefused, kind: fault.RunFailed, statuses: []int{400, 404, 405, 406, 409, 410, 415, 422, 451}},
	{what: whatRefused, kind: fault.RunFailed, names: []string{"AI_APICallError", "APIError"}},
	{what: "the provider's answer cannot be read", kind: fault.RunFailed, words: words(`json pars(e|ing)`, `invalid json`, `type validation failed`, `unexpected token`)},
}
