import { saysTooLong } from "./too-long.ts";

interface Facts {
  readonly status: number | undefined;
  readonly words: string;
  readonly text: string;
}

interface Kind {
  readonly code: string;
  /** What happened and what to do, in words of ours. */
  readonly what: string;
  readonly advice: string;
  readonly retryable: boolean;
  readonly is: (facts: Facts) => boolean;
}

/** The first that fits counts: a provider may say one thing with its status and a truer one with its words. */
export const KINDS: readonly Kind[] = [
  {
    code: "model_aborted",
    what: "The model call was aborted",
    advice: "It was asked to stop.",
    retryable: false,
    is: ({ words }) => /\b(AbortError|ResponseAborted)\b/.test(words),
  },
  {
    code: "model_context_too_long",
    what: "The messages are longer than the model can read",
    advice: "Show less: lower maxInputTokens, summarise, or take a model with a larger window.",
    retryable: false,
    is: ({ status, words, text }) => status === 413 || saysTooLong(text) || saysTooLong(words),
  },
  {
    code: "model_refused",
    what: "The provider's filter refused the request",
    advice: "Ask for something else.",
    retryable: false,
    is: ({ status, words, text }) =>
      below500(status) &&
      (/content_?filter|content_policy|ResponsibleAIPolicy|prohibited_content|invalid_prompt|model_refusal/i.test(
        words,
      ) ||
        /content (management|filtering|usage) policy|content policy|flagged as potentially violating|safety system/i.test(
          text,
        )),
  },
  {
    code: "model_auth",
    what: "The provider package was given no key",
    advice: "Set the environment variable that it reads, or pass it `apiKey`.",
    retryable: false,
    is: ({ words }) => /LoadAPIKey/.test(words),
  },
  {
    code: "model_auth",
    what: "The provider does not accept the key, or the account behind it has no permission or no credit",
    advice: "Check key, permissions and billing.",
    retryable: false,
    is: ({ status, words, text }) =>
      status === 401 ||
      status === 402 ||
      status === 403 ||
      /authentication|permission|invalid_?api_?key|API_KEY|unauthenticated|unauthorized|billing|insufficient_quota/i.test(
        words,
      ) ||
      /api key (is )?(not valid|invalid|expired)|credit balance is too low|insufficient (balance|credits?)/i.test(text),
  },
  {
    code: "model_overloaded",
    what: "The provider has too much to do",
    advice: "Try again in a while.",
    retryable: true,
    is: ({ status, words, text }) =>
      status === 529 ||
      /overloaded|slow_down|capacity/i.test(words) ||
      (status !== 429 && /overloaded|(at|over|exceeded) capacity/i.test(text)),
  },
  {
    code: "model_rate_limited",
    what: "The provider limits how often and how much it is asked",
    advice: "Wait, then try again.",
    retryable: true,
    is: ({ status, words, text }) =>
      status === 429 ||
      /rate_?limit|many_?requests|throttl|exhausted/i.test(words) ||
      (below500(status) && /rate limit|too many (requests|tokens)|throttl/i.test(text)),
  },
  {
    code: "model_not_found",
    what: "The provider has no such model, or no such address",
    advice: "Check the model's name, and baseURL when you set one.",
    retryable: false,
    is: ({ status, words, text }) =>
      status === 404 ||
      status === 410 ||
      /not_found|NoSuchModel|decommissioned|unknown_model/i.test(words) ||
      (below500(status) && /model\b.{0,80}(does not exist|not found|is not supported)/i.test(text)),
  },
  {
    code: "model_unavailable",
    what: "The provider could not be reached, or could not answer",
    advice: "Try again; check the network if it stays so.",
    retryable: true,
    is: ({ status, words, text }) =>
      (status !== undefined && (status >= 500 || [408, 409, 425].includes(status))) ||
      /\b(ECONN\w+|ETIMEDOUT|EPIPE|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENET\w+|EPROTO|UND_ERR_\w+|Connection(Refused|Closed)|FailedToOpenSocket|TimeoutError)\b/.test(
        words,
      ) ||
      /api_error|server_error|server_?exception|internal|unavailable|timeout/i.test(words) ||
      (status === undefined && UNREACHED.test(text)),
  },
  {
    code: "model_bad_request",
    what: "The provider refused the request as wrong",
    advice: "`cause` has the provider's words.",
    retryable: false,
    is: ({ status, words }) =>
      (status !== undefined && status < 500) ||
      /invalid_?(request|argument|prompt)|UnsupportedFunctionality|UnsupportedModel|validation_?(error|exception)/i.test(
        words,
      ),
  },
  {
    code: "model_error",
    what: "The provider's answer could not be read",
    advice: "Try again; `cause` has the details.",
    retryable: true,
    is: ({ words, text }) =>
      /JSONParse|TypeValidation|EmptyResponseBody|InvalidResponseData|NoContentGenerated/.test(words) ||
      /normalized Anthropic stream error/.test(text), // what that package says of a first chunk that it cannot read
  },
];

const UNREACHED =
  /fetch failed|failed to fetch|cannot connect|network|socket hang up|connection (error|reset|refused|closed)|\bterminated\b|load failed|timed? ?out/i;

function below500(status: number | undefined): boolean {
  return status === undefined || status < 500;
}
