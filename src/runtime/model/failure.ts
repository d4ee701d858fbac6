import type { ModelAnswer } from "../../agent/model-call.ts";
import type { Failure } from "../../agent/signal.ts";
import { HeddleError } from "../../thread/errors.ts";
import type { Clock } from "../../thread/ports.ts";
import { fieldsIn } from "./provider-values.ts";

/** What had been said when a call broke; calls of tools are left out, because nobody is to run them. */
export type PartialAnswer = Pick<ModelAnswer, "content" | "usage">;

/**
 * A model call that gave no answer. `code` begins with `model_`, or is that of a message that could not be sent;
 * `cause` is what the provider's package threw.
 *
 * @example
 * const error = new ModelError({ code: "model_rate_limited", message: "Wait a minute.", retryable: true });
 * error.failure; // { code: "model_rate_limited", message: "Wait a minute.", retryable: true }
 */
export class ModelError extends HeddleError {
  static override readonly className: string = "ModelError";
  /** What the provider asked to wait before trying again. */
  declare readonly retryAfterMs?: number;
  /** What a provider says of a prompt that was too long. */
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

  /** The same as data, for entries and events. */
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
 * What an error of a provider's package comes to. It goes by what the error holds, not by its class, so any copy of any
 * package will do. The message has none of the provider's words but its code: they may quote the request, or a key.
 * `isReading`: a stream had begun, and reading from it failed.
 */
export function classifyModelError(error: unknown, clock?: Clock, isReading = false): Failure {
  if (HeddleError.isInstance(error)) {
    const { code, message, retryable } = error;
    return { code, message, retryable };
  }
  const facts = factsOf(error);
  const words = facts.words.join(" ");
  const kind = KINDS.find(({ is }) => is({ ...facts, words, isReading }));
  const asked = facts.header("x-should-retry");
  const usual = kind?.retryable ?? facts.retryable ?? false;
  const retryable = asked === "true" || (usual && asked !== "false");
  const retryAfterMs = retryable ? retryAfterOf(facts, clock) : undefined;
  return {
    ...(kind === undefined
      ? { code: "model_error", message: `The model call failed${saidBy(facts)}. \`cause\` has the provider's error.` }
      : { code: kind.code, message: `${kind.what}${saidBy(facts)}. ${kind.advice}` }),
    retryable,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(kind?.code === "model_context_too_long" && promptLimitsIn(`${facts.text}\n${words}`)),
  };
}

/** A status and one word of the provider's program, not of the package; words with digits in them could be keys. */
function saidBy({ status, words }: ThrownFacts): string {
  const word = words.find((word) => /^(?!AI_)[A-Za-z]+([_.-][A-Za-z]+)+$/.test(word) && word.length <= 48);
  const said = [status, word].filter((part) => part !== undefined).join(" ");
  return said === "" ? "" : ` (${said})`;
}

interface Facts {
  readonly status: number | undefined;
  readonly words: string;
  readonly text: string;
  readonly isReading: boolean;
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
const KINDS: readonly Kind[] = [
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
    advice: "Try again; check the network if it stays so.",
    retryable: true,
    is: ({ status, words, text }) =>
      (status !== undefined && (status >= 500 || [408, 409, 425].includes(status))) ||
      CONNECTION.test(words) ||
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

const CONNECTION =
  /\b(ECONN\w+|ETIMEDOUT|EPIPE|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENET\w+|EPROTO|UND_ERR_\w+|Connection(Refused|Closed)|FailedToOpenSocket|TimeoutError)\b/;

const UNREACHED =
  /fetch failed|failed to fetch|cannot connect|network|socket hang up|connection (error|reset|refused|closed)|\bterminated\b|load failed|timed? ?out/i;

function below500(status: number | undefined): boolean {
  return status === undefined || status < 500;
}

/** What the provider asked to wait: by header, in milliseconds, seconds or as a date; Gemini says it in the body. */
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

/** What can be learnt of an error, whatever package threw it, and of the errors inside of it. */
interface ThrownFacts {
  /** Of the HTTP answer. */
  readonly status: number | undefined;
  /** Names of classes, codes and types: words that programs write. */
  readonly words: readonly string[];
  /** What people are to read, with the body of the answer; it may hold anything, so it is looked at and never shown. */
  readonly text: string;
  readonly retryable: boolean | undefined;
  readonly header: (name: string) => string | undefined;
}

const MAX_TEXT = 20_000;
const MAX_DEPTH = 6;

/** Where errors keep other errors, and where answers keep theirs. */
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

/** The error and everything inside of it that may know more; a body of JSON counts as well. */
function layersOf(value: unknown, depth: number): readonly Fields[] {
  if (depth > MAX_DEPTH) return [];
  const own = fieldsOf(value);
  if (own === undefined) return [];
  const body = parsed(own["responseBody"]);
  return [own, ...[...INSIDE.map((field) => own[field]), body].flatMap((inside) => layersOf(inside, depth + 1))];
}

/** Messages and names of errors are no fields of their own, and are read one by one. */
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

/** How each provider says that the messages do not fit into the model's window. */
export const TOO_LONG: readonly { readonly who: string; readonly says: RegExp }[] = [
  { who: "Anthropic; also on Bedrock and Vertex", says: /prompt is too long/i },
  { who: "Anthropic, with maxOutputTokens", says: /input length and `?max_tokens`? exceed context limit/i },
  {
    who: "Anthropic, too many bytes",
    says: /request_too_large|request exceeds the maximum (allowed )?(size|number of bytes)/i,
  },
  { who: "OpenAI and Azure by code, Groq", says: /context_length_exceeded|context_window_exceeded/i },
  { who: "OpenAI Chat, Azure, DeepSeek, vLLM, OpenRouter", says: /maximum context length (is|of) [\d,]+/i },
  { who: "OpenAI Responses, Azure", says: /exceeds? the (model's )?context window/i },
  { who: "OpenAI and Groq, more than a minute's tokens at once", says: /request too large for .*(requested|reduce)/is },
  { who: "Gemini, Vertex", says: /input token count .*exceeds the maximum number of tokens/is },
  { who: "Mistral", says: /too large for model with [\d,]+ maximum context length/i },
  { who: "Bedrock", says: /input is too long for requested model|too many input tokens/i },
  { who: "Groq, Cerebras", says: /reduce the length of the messages/i },
  { who: "xAI", says: /maximum prompt length is [\d,]+/i },
  {
    who: "vLLM, SGLang",
    says: /longer than the (maximum model length|model's context length)|context length is only [\d,]+/i,
  },
  { who: "llama.cpp", says: /exceeds? the available context size|exceed_context_size_error/i },
  { who: "llama-cpp-python", says: /requested tokens \([\d,]+\) exceed context window/i },
  { who: "Ollama", says: /prompt too long; exceeded|input (length )?exceeds (the |maximum )?context length/i },
  { who: "LM Studio", says: /greater than the context length|context the overflows/i },
  { who: "Cohere", says: /too many tokens: (the )?total number of tokens/i },
  { who: "Moonshot", says: /exceeded model token limit/i },
  { who: "MiniMax", says: /context window exceeds limit/i },
];

function saysTooLong(text: string): boolean {
  return TOO_LONG.some(({ says }) => says.test(text));
}

/** What a refusal says of the prompt: its length, and the longest that the model takes. */
interface PromptLimits {
  readonly promptTokens?: number;
  readonly maxPromptTokens?: number;
}

/** The numbers in each provider's words; an answer that counts too is taken off both. */
const NUMBERS: readonly RegExp[] = [
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

/** The numbers of a refusal, where it has any that make sense. */
function promptLimitsIn(text: string): PromptLimits {
  const found = NUMBERS.map((pattern) => pattern.exec(text)?.groups).find((groups) => groups !== undefined);
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
