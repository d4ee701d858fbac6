import { describe, isPlainObject } from "../../thread/json.ts";
import { knownNames } from "../../thread/options.ts";
import { invalidValue, PolicyError } from "../error.ts";

/** Converts an input value to the value of the policy, or throws a PolicyError that names `path`. */
export type Check<T> = (value: unknown, path: string) => T;

/** The checks of an object's fields, in the order of its keys. */
export type Fields<T> = { readonly [Key in keyof T]-?: Check<T[Key]> };

/** Checks for an integer of at least `least`. */
function whole(least: number): Check<number> {
  return (value, path) => {
    if (Number.isSafeInteger(value) && Number(value) >= least) return Number(value) + 0; // -0 becomes 0
    throw invalidValue(path, `must be a whole number from ${least} on, not ${shown(value)}`);
  };
}

/** Checks for a fraction above 0 and at most 1. */
const share: Check<number> = (value, path) => {
  if (typeof value === "number" && value > 0 && value <= 1) return value;
  throw invalidValue(path, `must be a number above 0 and at most 1, not ${shown(value)}`);
};

const flag: Check<boolean> = (value, path) => {
  if (typeof value === "boolean") return value;
  throw invalidValue(path, `must be true or false, not ${shown(value)}`);
};

const text: Check<string> = (value, path) => {
  if (typeof value !== "string") throw invalidValue(path, `must be a text, not ${shown(value)}`);
  if (value.trim() === "") throw invalidValue(path, "is blank; leave it out to have none");
  if (!value.isWellFormed()) throw invalidValue(path, "has a lone surrogate, which UTF-8 cannot encode");
  return value;
};

function oneOf<const T extends string>(...choices: readonly T[]): Check<T> {
  const list = choices.map((choice) => `"${choice}"`).join(", ");
  return (value, path) => {
    const found = choices.find((choice) => choice === value);
    if (found !== undefined) return found;
    throw invalidValue(path, `must be one of ${list}, not ${shown(value)}`);
  };
}

/** Checks for an object with exactly these fields. A missing or undefined field gets its default. */
export function fields<T extends object>(checks: Fields<T>, defaults: Partial<T>): Check<T> {
  const names = Object.keys(checks) as (keyof T & string)[]; // `checks` has exactly these keys
  return (value, path) => {
    const given = readFields(value, path);
    for (const name of Object.keys(given)) if (!Object.hasOwn(checks, name)) throw unknownField(path, name, names);
    const complete: Partial<T> = {};
    for (const name of names) {
      const item = given[name] === undefined ? defaults[name] : given[name];
      if (item !== undefined) complete[name] = checks[name](item, path === "" ? name : `${path}.${name}`);
    }
    return Object.freeze(complete) as T; // a field without a default is optional in T
  };
}

/** Reads each field once, so that a getter cannot return two different values. A getter that throws is a bad input. */
export function readFields(value: unknown, path: string): { readonly [name: string]: unknown } {
  try {
    if (isPlainObject(value)) return { ...value };
  } catch (cause) {
    throw invalidValue(path, "could not be read", cause);
  }
  throw invalidValue(path, `must be a plain object, not ${shown(value)}`);
}

function unknownField(path: string, name: string, names: readonly string[]): PolicyError {
  const where = path === "" ? name : `${path}.${name}`;
  const message = `A context policy has no field ${where}. ${knownNames(name, names)}`;
  return new PolicyError({ code: "policy_unknown_field", path: where, message });
}

/** Describes a value in an error message. Only numbers and booleans are shown, because text may contain secrets. */
function shown(value: unknown): string {
  return typeof value === "number" || typeof value === "boolean" ? String(value) : describe(value);
}

/** The entry kinds that a model is shown by default. */
export const DEFAULT_KINDS: readonly string[] = Object.freeze([
  "message",
  "tool_call",
  "tool_result",
  "summary",
  "ai_message",
  "ai_context_operation",
]);

/**
 * Checks for a list of entry kinds. It is stored sorted and without duplicates, so that equal sets give equal policies.
 */
const kinds: Check<readonly string[]> = (value, path) => {
  if (value === DEFAULT_KINDS) return DEFAULT_KINDS; // already in order, as in most policies
  if (!Array.isArray(value)) throw invalidValue(path, `must be a list of entry kinds, not ${describe(value)}`);
  const list = Array.from<unknown>(value).map((kind, index) => kindAt(kind, `${path}[${index}]`));
  if (list.length === 0)
    throw invalidValue(path, "is empty, so that nothing would be shown; leave it out to get the default");
  return Object.freeze([...new Set(list)].sort(inOrder));
};

/** Sorts the default kinds in their fixed order, then all other kinds alphabetically. */
function inOrder(a: string, b: string): number {
  return rank(a) - rank(b) || (a < b ? -1 : 1);
}

function rank(kind: string): number {
  const index = DEFAULT_KINDS.indexOf(kind);
  return index === -1 ? DEFAULT_KINDS.length : index;
}

function kindAt(kind: unknown, path: string): string {
  if (typeof kind === "string" && kind !== "" && kind.isWellFormed()) return kind;
  throw invalidValue(path, `must be the name of an entry kind, not ${kind === "" ? "an empty text" : describe(kind)}`);
}

/** How the start of the context window moves when the history grows. */
export type WindowPolicy = {
  /**
   * "stable", the default, moves the start rarely and far, which keeps provider caches valid. "sliding" moves it as
   * little as possible.
   */
  readonly mode: "stable" | "sliding";
  /** How far a stable window moves at once, as a fraction of the tokens for input. Default 0.5. */
  readonly step: number;
};

/** How tool results are cleared and shortened in the context. 0 is off, and the default of `ContextPolicy.create`. */
export type ToolResultsPolicy = {
  /** Show the results of the last n exchanges, and a marker for older ones. Default 0. */
  readonly keepLast: number;
  /**
   * Shorten every result above this many tokens to its start and end. Default 0, which shortens none; for agents half
   * of the tokens for input.
   */
  readonly maxTokens: number;
};

/** The fields of a policy. */
export type PolicyFields = {
  /** Tokens for input and reserved output together. Default 8000. */
  readonly maxInputTokens: number;
  /** Tokens reserved for the answer. Default 2000. */
  readonly reserveOutputTokens: number;
  /** The largest number of history messages. Default 0, no limit. */
  readonly maxMessages: number;
  /** The largest number of user turns. Default 0, no limit. */
  readonly maxTurns: number;
  /**
   * How many of the newest turns limits, clearing and summaries leave unchanged. Default 3, or less if an explicit
   * limit is lower.
   */
  readonly keepLastTurns: number;
  /** "use_existing", the default, shows summaries. "request_new" also sets needsSummary. "none" ignores summaries. */
  readonly summarization: "none" | "use_existing" | "request_new";
  /** The role of the summary message. Default "system". */
  readonly summaryRole: "system" | "user";
  /** The kinds of entries that are shown. Default: messages, calls, results, summaries and context operations. */
  readonly includeKinds: readonly string[];
  /** The system prompt, unless the projection input has its own. Default none. */
  readonly systemPrompt?: string;
  /** The counter an agent passes to the projection. Default "heuristic". */
  readonly tokenEstimator: "heuristic" | "exact" | "calibrated";
  /** How the window over the history moves. Default: stable, in steps of a half. */
  readonly window: WindowPolicy;
  /** How tool results are cleared and shortened. Default: not at all; for agents, results above half of the input. */
  readonly toolResults: ToolResultsPolicy;
  /** "auto", the default, keeps thinking only where the provider accepts it. "keep" keeps all thinking, "drop" drops all. */
  readonly thinking: "auto" | "keep" | "drop";
  /** If the newest block does not fit: "error" throws, "shrink" shortens its results and then shows notes for files. Default "error"; for agents "shrink". */
  readonly overflow: "error" | "shrink";
  /** Set needsSummary when more entries than this follow the last summary. Default 0, off. */
  readonly summarizeThreshold: number;
  /** Set needsSummary when the entries without a summary have more tokens than this. Default 0, off. */
  readonly maxThreadTokens: number;
  /** Whether the agent writes a summary when needsSummary is set. Default false. */
  readonly autoSummarize: boolean;
  /** A name for the model of summaries, which your `summarize` function gets. Default: none. */
  readonly summarizationModel?: string;
};

type Optional<T> = { readonly [Key in keyof T]?: T[Key] | undefined };

/** Any part of a policy. Missing fields get their defaults. */
export type ContextPolicyInput = Optional<Omit<PolicyFields, "window" | "toolResults">> & {
  /** How the window over the history moves. Default: stable, in steps of a half. */
  readonly window?: Optional<WindowPolicy> | undefined;
  /** How tool results are cleared and shortened. Default: not at all; for agents, results above half of the input. */
  readonly toolResults?: Optional<ToolResultsPolicy> | undefined;
};

export const DEFAULTS: PolicyFields = {
  maxInputTokens: 8000,
  reserveOutputTokens: 2000,
  maxMessages: 0,
  maxTurns: 0,
  keepLastTurns: 3,
  summarization: "use_existing",
  summaryRole: "system",
  includeKinds: DEFAULT_KINDS,
  tokenEstimator: "heuristic",
  window: { mode: "stable", step: 0.5 },
  toolResults: { keepLast: 0, maxTokens: 0 },
  thinking: "auto",
  overflow: "error",
  summarizeThreshold: 0,
  maxThreadTokens: 0,
  autoSummarize: false,
};

/** Every field with its check. This order is the key order of a policy, and thus of its canonical JSON. */
export const CHECKS: Fields<PolicyFields> = {
  maxInputTokens: whole(1),
  reserveOutputTokens: whole(0),
  maxMessages: whole(0),
  maxTurns: whole(0),
  keepLastTurns: whole(0),
  summarization: oneOf("none", "use_existing", "request_new"),
  summaryRole: oneOf("system", "user"),
  includeKinds: kinds,
  systemPrompt: text,
  tokenEstimator: oneOf("heuristic", "exact", "calibrated"),
  window: fields<WindowPolicy>({ mode: oneOf("stable", "sliding"), step: share }, DEFAULTS.window),
  toolResults: fields<ToolResultsPolicy>({ keepLast: whole(0), maxTokens: whole(0) }, DEFAULTS.toolResults),
  thinking: oneOf("auto", "keep", "drop"),
  overflow: oneOf("error", "shrink"),
  summarizeThreshold: whole(0),
  maxThreadTokens: whole(0),
  autoSummarize: flag,
  summarizationModel: text,
};
