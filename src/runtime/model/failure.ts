import type { ModelAnswer } from "../../agent/model-call.ts";
import type { Failure } from "../../agent/signal.ts";
import { HeddleError } from "../../thread/errors.ts";
import type { Clock } from "../../thread/ports.ts";
import { fieldsIn } from "./provider-values.ts";

/** The content that had come in when a call failed. It has no tool calls, because they must not run. */
export type PartialAnswer = Pick<ModelAnswer, "content" | "usage">;

/**
 * A failed model call. `code` starts with `model_`, or names a message that could not be sent. `cause` is the error that
 * the package of the provider threw.
 *
 * @example
 * const error = new ModelError({ code: "model_rate_limited", message: "Wait a minute.", retryable: true });
 * error.failure; // { code: "model_rate_limited", message: "Wait a minute.", retryable: true }
 */
export class ModelError extends HeddleError {
  static override readonly className: string = "ModelError";
  /** How long to wait before a retry, if the provider names a time. */
  declare readonly retryAfterMs?: number;
  /** The size of a prompt that was too long, if the provider names it. */
  declare readonly promptTokens?: number;
  declare readonly maxPromptTokens?: number;
  declare readonly partial?: PartialAnswer;

  constructor(failure: Failure & { readonly partial?: PartialAnswer | undefined; readonly cause?: unknown }) {
    const { code, message, retryable = false, cause, retryAfterMs, promptTokens, maxPromptTokens, partial } = failure;
    super({ code, message, retryable, cause });
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
    if (promptTokens !== undefined) this.promptTokens = promptTokens;
    if (maxPromptTokens !== undefined) this.maxPromptTokens = maxPromptTokens;
    if (partial !== undefined) this.partial = partial;
  }

  /** The error as data, for entries and events. */
  get failure(): Failure {
    const { code, message, retryable, retryAfterMs, promptTokens, maxPromptTokens } = this;
    return {
      code,
      message,
      retryable,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
      ...(promptTokens !== undefined && { promptTokens }),
      ...(maxPromptTokens !== undefined && { maxPromptTokens }),
    };
  }
}

/**
 * Classifies an error of a provider package. It uses the fields of the error and not its class, so that it works with any
 * copy of any package. The message has only the code of the provider: its text may quote the request or a key.
 * `isReading`: a stream had begun, and reading from it failed.
 */
export function classifyModelError(error: unknown, clock?: Clock, isReading = false): Failure {
  if (HeddleError.isInstance(error)) {
    const { code, message, retryable } = error;
    return { code, message, retryable };
  }
  const facts = factsOf(error);
  const words = facts.words.join(" ");
  const kind = FAILURE_KINDS.find(({ is }) => is({ ...facts, words, isReading }));
  const header = facts.header("x-should-retry");
  const usual = kind?.retryable ?? facts.retryable ?? false;
  const retryable = header === "true" || (usual && header !== "false");
  const retryAfterMs = retryable ? retryAfterOf(facts, clock) : undefined;
  return {
    ...(kind === undefined
      ? {
          code: "model_error",
          message: `The model call failed${detailsOf(facts)}. \`cause\` has the error of the provider.`,
        }
      : { code: kind.code, message: `${kind.what}${detailsOf(facts)}. ${kind.advice}` }),
    retryable,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(kind?.code === "model_context_too_long" && promptLimitsIn(`${facts.text}\n${words}`)),
  };
}

/** Whether a provider refused the request for one of its files: broken bytes, too many pixels, a document that it cannot read. */
export function isRefusalOfFile(error: unknown): boolean {
  const { status = 0, text, words } = factsOf(error);
  return [400, 415, 422].includes(status) && FILE.test(`${text} ${words.join(" ")}`) && !isTooLong(text);
}

const FILE = /image|picture|document|pdf|\bfiles?\b|file_?data|media|audio|video/i;

/** The HTTP status and the error code of the provider. A code with digits is left out, because it could be a key. */
function detailsOf({ status, words }: ThrownFacts): string {
  const word = words.find((word) => /^(?!AI_)[A-Za-z]+([_.-][A-Za-z]+)+$/.test(word) && word.length <= 48);
  const details = [status, word].filter((part) => part !== undefined).join(" ");
  return details === "" ? "" : ` (${details})`;
}

interface ErrorFacts {
  readonly status: number | undefined;
  readonly words: string;
  readonly text: string;
  readonly isReading: boolean;
}

interface FailureKind {
  readonly code: string;
  /** The failure, and advice on what to do. */
  readonly what: string;
  readonly advice: string;
  readonly retryable: boolean;
  readonly is: (facts: ErrorFacts) => boolean;
}

/** The first match counts. The text of a provider is often more exact than its status, so it is checked earlier. */
const FAILURE_KINDS: readonly FailureKind[] = [
  {
    code: "model_context_too_long",
    what: "The request has more bytes than the provider takes",
    advice: "Send fewer or smaller files, or their URLs. Otherwise lower maxInputTokens, or summarize.",
    retryable: false,
    is: ({ status, text }) => status === 413 && !/token/i.test(text),
  },
  {
    code: "model_context_too_long",
    what: "The messages are longer than the context window of the model",
    advice: "Lower maxInputTokens, summarize, or use a model with a larger window.",
    retryable: false,
    is: ({ words, text }) => isTooLong(text) || isTooLong(words),
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
    what: "The provider package has no API key",
    advice: "Set the environment variable of the package, or pass `apiKey` to it.",
    retryable: false,
    is: ({ words }) => /LoadAPIKey/.test(words),
  },
  {
    code: "model_auth",
    what: "The provider refused the API key, or its account has no permission or no credit",
    advice: "Check the key, the permissions and the billing.",
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
    what: "The provider is overloaded",
    advice: "Try again later.",
    retryable: true,
    is: ({ status, words, text }) =>
      status === 529 ||
      /overloaded|slow_down|capacity/i.test(words) ||
      (status !== 429 && /overloaded|(at|over|exceeded) capacity/i.test(text)),
  },
  {
    code: "model_rate_limited",
    what: "The rate limit of the provider is reached",
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
    advice: "Check the name of the model, and baseURL if you set it.",
    retryable: false,
    is: ({ status, words, text }) =>
      status === 404 ||
      status === 410 ||
      /not_found|NoSuchModel|decommissioned|unknown_model/i.test(words) ||
      (below500(status) && /model\b.{0,80}(does not exist|not found|is not supported)/i.test(text)),
  },
  {
    code: "model_stream_interrupted",
    what: "The stream ended before the answer did",
    advice: "Ask again.",
    retryable: true,
    is: ({ status, words, text, isReading }) =>
      /stream ended without a finish reason/i.test(text) ||
      (isReading && status === undefined && (CONNECTION.test(words) || UNREACHED.test(text))),
  },
  {
    code: "model_unavailable",
    what: "The provider could not be reached, or could not answer",
    advice: "Try again. If it fails again, check the network.",
    retryable: true,
    is: ({ status, words, text }) =>
      (status !== undefined && (status >= 500 || [408, 409, 425].includes(status))) ||
      CONNECTION.test(words) ||
      /api_error|server_error|server_?exception|internal|unavailable|timeout/i.test(words) ||
      (status === undefined && UNREACHED.test(text)),
  },
  {
    code: "model_bad_request",
    what: "The provider refused the request as invalid",
    advice: "`cause` has the error of the provider.",
    retryable: false,
    is: ({ status, words }) =>
      (status !== undefined && status < 500) ||
      /invalid_?(request|argument|prompt)|UnsupportedFunctionality|UnsupportedModel|validation_?(error|exception)/i.test(
        words,
      ),
  },
  {
    code: "model_error",
    what: "The answer of the provider could not be read",
    advice: "Try again. `cause` has the details.",
    retryable: true,
    is: ({ words, text }) =>
      /JSONParse|TypeValidation|EmptyResponseBody|InvalidResponseData|NoContentGenerated/.test(words) ||
      /normalized Anthropic stream error/.test(text), // the message of that package for a first chunk that it cannot read
  },
];

/** An abort of ours does not come here: it has ended the wait for the model. */
const CONNECTION =
  /\b(ECONN\w+|ETIMEDOUT|EPIPE|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENET\w+|EPROTO|UND_ERR_\w+|Connection(Refused|Closed)|FailedToOpenSocket|TimeoutError|AbortError|ResponseAborted)\b/;

const UNREACHED =
  /fetch failed|failed to fetch|cannot connect|network|socket hang up|connection (error|reset|refused|closed)|\bterminated\b|load failed|timed? ?out/i;

function below500(status: number | undefined): boolean {
  return status === undefined || status < 500;
}

/** The wait before a retry. Headers have it in milliseconds, in seconds or as a date; Gemini has it in the body. */
function retryAfterOf({ header, text }: ThrownFacts, clock: Clock | undefined): number | undefined {
  const ms = number(header("retry-after-ms"));
  if (ms !== undefined) return ms;
  const after = header("retry-after");
  const seconds = number(after);
  if (seconds !== undefined) return Math.round(seconds * 1000);
  const date = after === undefined ? Number.NaN : Date.parse(after);
  if (!Number.isNaN(date) && clock !== undefined) return Math.max(0, date - clock());
  const delay = number(/"retryDelay":\s*"([\d.]+)s"/.exec(text)?.[1]);
  return delay === undefined ? undefined : Math.ceil(delay * 1000);
}

function number(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : undefined;
}

/** Facts about an error of any package, also from the errors inside it. */
interface ThrownFacts {
  /** The HTTP status. */
  readonly status: number | undefined;
  /** Names of classes, codes and types. */
  readonly words: readonly string[];
  /** Messages and the body of the response. They may quote a request or a key, so they are searched but never shown. */
  readonly text: string;
  readonly retryable: boolean | undefined;
  readonly header: (name: string) => string | undefined;
}

const MAX_TEXT = 20_000;
const MAX_DEPTH = 6;

/** Fields in which errors and responses hold other errors. */
const INSIDE = ["cause", "data", "error", "lastError", "response", "$metadata", "details", "0"] as const;
const STATUS = ["statusCode", "status", "httpStatusCode", "code", "error_code"] as const;
const WORDS = ["name", "code", "type", "status", "reason", "param"] as const;

type Fields = { readonly [field: string]: unknown };

function factsOf(error: unknown): ThrownFacts {
  const all = layersOf(error, 0);
  const texts = all.flatMap((layer) => [layer["message"], layer["responseBody"], layer["text"]]).filter(isText);
  const headers = all
    .map((layer) => layer["responseHeaders"] ?? layer["headers"])
    .filter((found) => found !== undefined);
  return {
    status: all.flatMap((layer) => STATUS.map((field) => statusIn(layer[field]))).find((found) => found !== undefined),
    words: all.flatMap((layer) => WORDS.map((field) => layer[field])).filter(isText),
    text: (typeof error === "string" ? [error] : texts).join("\n").slice(0, MAX_TEXT),
    retryable: all.map((layer) => layer["isRetryable"]).find((found) => typeof found === "boolean"),
    header: (name) => headers.map((list) => headerIn(list, name)).find((found) => found !== undefined),
  };
}

/** The error, the errors inside it, and its body if that is JSON. */
function layersOf(value: unknown, depth: number): readonly Fields[] {
  if (depth > MAX_DEPTH) return [];
  const own = fieldsOf(value);
  if (own === undefined) return [];
  const body = parsed(own["responseBody"]);
  return [own, ...[...INSIDE.map((field) => own[field]), body].flatMap((inside) => layersOf(inside, depth + 1))];
}

/** Some fields of errors, such as `message`, are not enumerable, so they are read one by one. */
function fieldsOf(value: unknown): Fields | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const named = Object.fromEntries(
    ["name", "message", "cause", "code"].map((field) => [field, readField(value, field)]),
  );
  return { ...named, ...fieldsIn(value) };
}

function readField(value: object, field: string): unknown {
  try {
    return Reflect.get(value, field);
  } catch {
    return undefined; // a getter or a proxy that throws
  }
}

function parsed(body: unknown): unknown {
  if (typeof body !== "string" || body.length > MAX_TEXT) return undefined;
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function statusIn(value: unknown): number | undefined {
  const status = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof status === "number" && status >= 400 && status < 600 ? status : undefined;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function headerIn(list: unknown, name: string): string | undefined {
  if (typeof Headers !== "undefined" && list instanceof Headers) return list.get(name) ?? undefined;
  const found = Object.entries(fieldsIn(list)).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof found === "string" || typeof found === "number" ? String(found) : undefined;
}

/** The messages of providers for a prompt that does not fit into the context window. */
export const TOO_LONG: readonly { readonly provider: string; readonly pattern: RegExp }[] = [
  { provider: "Anthropic; also on Bedrock and Vertex", pattern: /prompt is too long/i },
  { provider: "Anthropic, with maxOutputTokens", pattern: /input length and `?max_tokens`? exceed context limit/i },
  {
    provider: "Anthropic, too many bytes",
    pattern: /request_too_large|request exceeds the maximum (allowed )?(size|number of bytes)/i,
  },
  { provider: "OpenAI and Azure by code, Groq", pattern: /context_length_exceeded|context_window_exceeded/i },
  { provider: "OpenAI Chat, Azure, DeepSeek, vLLM, OpenRouter", pattern: /maximum context length (is|of) [\d,]+/i },
  { provider: "OpenAI Responses, Azure", pattern: /exceeds? the (model's )?context window/i },
  {
    provider: "OpenAI and Groq, more than a minute's tokens at once",
    pattern: /request too large for .*(requested|reduce)/is,
  },
  { provider: "Gemini, Vertex", pattern: /input token count .*exceeds the maximum number of tokens/is },
  { provider: "Mistral", pattern: /too large for model with [\d,]+ maximum context length/i },
  { provider: "Bedrock", pattern: /input is too long for requested model|too many input tokens/i },
  { provider: "Groq, Cerebras", pattern: /reduce the length of the messages/i },
  { provider: "xAI", pattern: /maximum prompt length is [\d,]+/i },
  {
    provider: "vLLM, SGLang",
    pattern: /longer than the (maximum model length|model's context length)|context length is only [\d,]+/i,
  },
  { provider: "llama.cpp", pattern: /exceeds? the available context size|exceed_context_size_error/i },
  { provider: "llama-cpp-python", pattern: /requested tokens \([\d,]+\) exceed context window/i },
  { provider: "Ollama", pattern: /prompt too long; exceeded|input (length )?exceeds (the |maximum )?context length/i },
  { provider: "LM Studio", pattern: /greater than the context length|context the overflows/i },
  { provider: "Cohere", pattern: /too many tokens: (the )?total number of tokens/i },
  { provider: "Moonshot", pattern: /exceeded model token limit/i },
  { provider: "MiniMax", pattern: /context window exceeds limit/i },
];

function isTooLong(text: string): boolean {
  return TOO_LONG.some(({ pattern }) => pattern.test(text));
}

/** The length of a refused prompt, and the limit of the model. */
interface PromptLimits {
  readonly promptTokens?: number;
  readonly maxPromptTokens?: number;
}

/** The numbers in the messages of providers. If the tokens of the answer are included, they are subtracted. */
const PROMPT_LIMITS: readonly RegExp[] = [
  /prompt is too long: (?<prompt>[\d,]+) tokens > (?<max>[\d,]+)/i,
  /exceed context limit: (?<prompt>[\d,]+) \+ (?<answer>[\d,]+) > (?<max>[\d,]+)/i,
  /maximum context length (?:is|of) (?<max>[\d,]+) tokens\. However, you requested (?:about )?(?<total>[\d,]+) tokens \(.*?(?<answer>[\d,]+) in the (?:completion|output)\)/is,
  /maximum context length (?:is|of) (?<max>[\d,]+) tokens\.(?:[^"]*?(?:resulted in|requested) (?<prompt>[\d,]+) tokens)?/is,
  /Limit (?<max>[\d,]+), Requested (?<prompt>[\d,]+)/i,
  /input token count \(?(?<prompt>[\d,]+)\)? exceeds the maximum number of tokens allowed \(?(?<max>[\d,]+)/i,
  /contains (?<prompt>[\d,]+) tokens .*too large for model with (?<max>[\d,]+) maximum/i,
  /maximum prompt length is (?<max>[\d,]+)(?: but the request contains (?<prompt>[\d,]+))?/i,
  /\(length (?<prompt>[\d,]+)\) is longer than the maximum model length of (?<max>[\d,]+)/i,
  /\((?<prompt>[\d,]+) tokens\) (?:is longer than the model's context length|exceeds? the available context size) \((?<max>[\d,]+)/i,
  /"n_prompt_tokens":(?<prompt>\d+),"n_ctx":(?<max>\d+)/,
  /requested tokens \((?<prompt>[\d,]+)\) exceed context window of (?<max>[\d,]+)/i,
  /first (?<prompt>[\d,]+) tokens when context the overflows.*context length of only (?<max>[\d,]+)/is,
  /prompt cannot exceed (?<max>[\d,]+) - received (?<prompt>[\d,]+)/i,
  /current length is (?<prompt>[\d,]+) while limit is (?<max>[\d,]+)/i,
  /exceeded model token limit: (?<max>[\d,]+)(?: \(requested: (?<prompt>[\d,]+)\))?/i,
];

/** The numbers of a refusal. Numbers that contradict each other are left out. */
function promptLimitsIn(text: string): PromptLimits {
  const found = PROMPT_LIMITS.map((pattern) => pattern.exec(text)?.groups).find((groups) => groups !== undefined);
  if (found === undefined) return {};
  const [max, answer, total, prompt] = [found["max"], found["answer"], found["total"], found["prompt"]].map(numberOf);
  const maxPromptTokens = (max ?? 0) - (answer ?? 0);
  const promptTokens = prompt ?? (total === undefined ? undefined : total - (answer ?? 0));
  if (maxPromptTokens < 1) return {};
  return promptTokens !== undefined && promptTokens > maxPromptTokens
    ? { promptTokens, maxPromptTokens }
    : { maxPromptTokens };
}

function numberOf(digits: string | undefined): number | undefined {
  return digits === undefined ? undefined : Number(digits.replaceAll(",", ""));
}
