import type { ModelFinishReason, Usage } from "../agent/model-call.ts";
import { HeddleError } from "../thread/errors.ts";
import { isPlainObject, type JsonValue } from "../thread/json.ts";
import type { PartMetadata } from "../thread/message.ts";
import type { RequestMessage, ScriptedRequest } from "./request.ts";

/** An exact text, or a pattern that must occur in it. */
export type TextMatch = string | RegExp;

/** An expected message. All given fields must be equal; other fields are ignored. */
export interface ExpectedMessage {
  /** The role. Default: any. */
  readonly role?: RequestMessage["role"];
  /** The text. Default: any. */
  readonly text?: TextMatch;
  /** The thinking. Default: any. */
  readonly thinking?: TextMatch;
  /** All calls of the message, in order. Default: any. */
  readonly calls?: readonly { readonly id?: string; readonly name?: string; readonly arguments?: JsonValue }[];
  /** All results of the message, in order. Default: any. */
  readonly results?: readonly {
    readonly id?: string;
    readonly name?: string;
    readonly value?: JsonValue | RegExp;
    readonly isError?: boolean;
  }[];
  /** The media types of all files, in their order. Default: any. */
  readonly files?: readonly string[];
}

/** An expected request. All given fields must be equal; other fields are ignored. */
export interface Expectation {
  /** The text of the last user message. Default: any. */
  readonly lastUser?: TextMatch;
  /** The system prompt. Default: any. */
  readonly system?: TextMatch;
  /** The names of all tools that the request offers, in any order. Default: any. */
  readonly tools?: readonly string[];
  /** The whole conversation, without the system prompt. Default: any. */
  readonly messages?: readonly ExpectedMessage[];
  /** The last messages of the conversation. Default: any. */
  readonly endsWith?: readonly ExpectedMessage[];
  /** Returns whether the request is as expected. Default: any is. */
  readonly where?: (request: ScriptedRequest) => boolean;
}

/** A text that is sent as one delta, or as exactly these deltas. */
export type Deltas = string | readonly string[];

/** A tool call in a scripted answer. */
export interface ScriptedCall {
  /** The id of the call. Default: "call_1", "call_2" and so on, for each model. */
  readonly id?: string;
  readonly name: string;
  /** Default: {}. */
  readonly arguments?: JsonValue;
  /** Replaces `arguments`: the raw text of the model, which may be invalid JSON. Default: the JSON of `arguments`. */
  readonly input?: Deltas;
  /** Metadata of the call. Default: none. */
  readonly metadata?: PartMetadata;
}

/** A part of a scripted answer: thinking, text or a tool call. */
export type ScriptedPart =
  | ({ readonly thinking: Deltas } & ScriptedMetadata)
  | ({ readonly text: Deltas } & ScriptedMetadata)
  | ScriptedCall;

interface ScriptedMetadata {
  /** Metadata of the part, such as a signature. Default: none. */
  readonly metadata?: PartMetadata;
}

/** An error response of a provider. The caller gets an APICallError of the AI SDK. */
export interface ScriptedApiError {
  /** The HTTP status. */
  readonly status: number;
  /** The message of the provider. Default "Status 429." with the status. */
  readonly message?: string;
  /** Sent as the header `retry-after-ms`. Default: none. */
  readonly retryAfterMs?: number;
}

/** The answer of a step. Sent in the order thinking, text, calls; use `parts` for another order. */
export interface ScriptedAnswer {
  /** The thinking. Default: none. */
  readonly thinking?: Deltas;
  /** The text. Default: none. */
  readonly text?: Deltas;
  /** The tool calls. Default: none. */
  readonly calls?: readonly ScriptedCall[];
  /** Metadata of the thinking, such as its signature. Without thinking, metadata of the text. Default: none. */
  readonly metadata?: PartMetadata;
  /** The parts of the answer in order. Use it instead of `thinking`, `text` and `calls`. Default: none. */
  readonly parts?: readonly ScriptedPart[];
  /** Token counts. Default for absent counts: one token for four characters of text, rounded up. */
  readonly usage?: Usage;
  /** Default: "tool-calls" if there are calls, else "stop". */
  readonly finishReason?: ModelFinishReason;
  /** The call fails with this error. Default: none. */
  readonly error?: Error | ScriptedApiError;
  /** Sends the error after this many deltas. Default: the call itself fails. */
  readonly after?: number;
  /** Milliseconds to wait before the first delta. Default 0. */
  readonly delayMs?: number;
  /** Milliseconds to wait before each further delta. Default 0. */
  readonly deltaDelayMs?: number;
  /** Sends the content and then hangs until the call is aborted. Default false. */
  readonly hang?: boolean;
}

/** An expectation in short form: the last user text, or a predicate. */
export type ScriptedExpect = TextMatch | Expectation | ((request: ScriptedRequest) => boolean);

/** A step of a script. A text answers any request. A function computes the answer from the request. */
export type ScriptedStep =
  | string
  | ScriptedExchange
  | ((request: ScriptedRequest) => string | ScriptedAnswer | Promise<string | ScriptedAnswer>);

/** An answer, and the request that it answers. */
interface ScriptedExchange extends ScriptedAnswer {
  /** The expected request. Default: any. */
  readonly expect?: ScriptedExpect;
}

/** A step in normal form. */
export interface Step {
  /** From 1. */
  readonly number: number;
  readonly expect: Expectation;
  readonly answer: (request: ScriptedRequest) => string | ScriptedAnswer | Promise<string | ScriptedAnswer>;
}

export function stepOf(given: ScriptedStep, index: number): Step {
  const number = index + 1;
  const place = `step ${number}`;
  if (typeof given === "function") {
    const answer: Step["answer"] = async (request) => checkedAnswer(await given(request), `the answer of ${place}`);
    return { number, expect: {}, answer };
  }
  if (typeof given === "string") return { number, expect: {}, answer: () => given };
  const { expect, ...rest }: typeof given = checked(given, place, checkStep);
  const answer = checkedAnswer(rest, place);
  return { number, expect: expectationOf(expect, `${place}.expect`), answer: () => answer };
}

function expectationOf(given: ScriptedExpect | undefined, place: string): Expectation {
  if (given === undefined) return {};
  if (typeof given === "string" || given instanceof RegExp) return { lastUser: given };
  if (typeof given === "function") return { where: given };
  return { ...checked(given, place, checkExpectation) };
}

function checkedAnswer(given: string | ScriptedAnswer, place: string): string | ScriptedAnswer {
  if (typeof given === "string") return given;
  const { parts, thinking, text, calls, metadata, error, after } = checked(given, place, checkAnswer);
  if (parts !== undefined && [thinking, text, calls, metadata].some((other) => other !== undefined))
    throw invalidScript(`${place} has parts, which go without thinking, text, calls and metadata`);
  if (metadata !== undefined && thinking === undefined && text === undefined)
    throw invalidScript(`${place} has metadata, but neither thinking nor text it could belong to`);
  if (after !== undefined && error === undefined) throw invalidScript(`${place} says after, but no error`);
  return { ...given };
}

/** Makes the error for an invalid script, which is a mistake in the test. */
export function invalidScript(trouble: string): HeddleError {
  return new HeddleError({ code: "script_invalid", message: `The script cannot be played: ${trouble}.` });
}

function checked<T>(given: T, place: string, check: Check): T {
  const trouble = check(given, place);
  if (trouble !== undefined) throw invalidScript(trouble);
  return given;
}

const checkStep: Check = (value, path) =>
  typeof value === "object" && value !== null ? undefined : `${path} must be a text, an object or a function`;

/** Returns an error message for an invalid value. `path` is its position in the script. */
type Check = (value: unknown, path: string) => string | undefined;

const checkIf =
  (what: string, test: (value: unknown) => boolean): Check =>
  (value, path) =>
    test(value) ? undefined : `${path} must be ${what}`;

const checkList =
  (item: Check): Check =>
  (value, path) =>
    Array.isArray(value)
      ? value.map((one, index) => item(one, `${path}[${index}]`)).find((trouble) => trouble !== undefined)
      : `${path} must be a list`;

/** Checks for an object with only these fields, so that a misspelled field is not ignored. */
const checkRecord =
  <T>(fields: Readonly<Record<keyof T, Check>>, required: readonly string[] = []): Check =>
  (value, path) => {
    if (!isPlainObject(value)) return `${path} must be a plain object`;
    const checks = new Map<string, Check>(Object.entries(fields));
    const missing = required.find((field) => value[field] === undefined);
    if (missing !== undefined) return `${path} needs the field ${missing}`;
    for (const [field, item] of Object.entries(value)) {
      const check = checks.get(field);
      if (check === undefined) return `${path} has no field "${field}"; it may have ${[...checks.keys()].join(", ")}`;
      const trouble = item === undefined ? undefined : check(item, `${path}.${field}`);
      if (trouble !== undefined) return trouble;
    }
    return undefined;
  };

const checkText = checkIf("a text", (value) => typeof value === "string");
const checkMatch = checkIf("a text or a pattern", (value) => typeof value === "string" || value instanceof RegExp);
const checkFlag = checkIf("true or false", (value) => typeof value === "boolean");
const checkAmount = checkIf(
  "a number from 0 on",
  (value) => typeof value === "number" && value >= 0 && value < Infinity,
);
const checkCount = checkIf("a whole number from 0 on", (value) => Number.isSafeInteger(value) && Number(value) >= 0);
const noCheck: Check = () => undefined;
const checkDeltas: Check = (value, path) => (typeof value === "string" ? undefined : checkList(checkText)(value, path));
const checkMetadata = checkIf(
  "objects by provider",
  (value) => isPlainObject(value) && Object.values(value).every((item) => isPlainObject(item)),
);

const checkCall = checkRecord<ScriptedCall>(
  { id: checkText, name: checkText, arguments: noCheck, input: checkDeltas, metadata: checkMetadata },
  ["name"],
);

const checkPart: Check = (value, path) => {
  if (isPlainObject(value) && "thinking" in value)
    return checkRecord<object>({ thinking: checkDeltas, metadata: checkMetadata })(value, path);
  if (isPlainObject(value) && "text" in value)
    return checkRecord<object>({ text: checkDeltas, metadata: checkMetadata })(value, path);
  return checkCall(value, path);
};

const checkApiError = checkRecord<object>({ status: checkCount, message: checkText, retryAfterMs: checkAmount }, [
  "status",
]);

const checkAnswer: Check = checkRecord<ScriptedAnswer>({
  thinking: checkDeltas,
  text: checkDeltas,
  calls: checkList(checkCall),
  metadata: checkMetadata,
  parts: checkList(checkPart),
  usage: checkRecord<Omit<NonNullable<ScriptedAnswer["usage"]>, "estimated">>({
    inputTokens: checkAmount,
    outputTokens: checkAmount,
    cacheReadTokens: checkAmount,
    cacheWriteTokens: checkAmount,
    reasoningTokens: checkAmount,
  }),
  finishReason: checkText,
  error: (value, path) => (value instanceof Error ? undefined : checkApiError(value, path)),
  after: checkCount,
  delayMs: checkAmount,
  deltaDelayMs: checkAmount,
  hang: checkFlag,
});

const checkExpectedMessage = checkRecord<ExpectedMessage>({
  role: checkText,
  text: checkMatch,
  thinking: checkMatch,
  calls: checkList(checkRecord<object>({ id: checkText, name: checkText, arguments: noCheck })),
  results: checkList(checkRecord<object>({ id: checkText, name: checkText, value: noCheck, isError: checkFlag })),
  files: checkList(checkText),
});

const checkExpectation: Check = checkRecord<Expectation>({
  lastUser: checkMatch,
  system: checkMatch,
  tools: checkList(checkText),
  messages: checkList(checkExpectedMessage),
  endsWith: checkList(checkExpectedMessage),
  where: checkIf("a function", (value) => typeof value === "function"),
});
