import { isPlainObject } from "../../thread/json.ts";
import type { Expectation, ExpectedMessage, ScriptedAnswer, ScriptedCall } from "./script.ts";

/** Returns a message when a value is invalid. `path` is its place in the script. */
export type Check = (value: unknown, path: string) => string | undefined;

const is =
  (what: string, test: (value: unknown) => boolean): Check =>
  (value, path) =>
    test(value) ? undefined : `${path} must be ${what}`;

const list =
  (item: Check): Check =>
  (value, path) =>
    Array.isArray(value)
      ? value.map((one, index) => item(one, `${path}[${index}]`)).find((trouble) => trouble !== undefined)
      : `${path} must be a list`;

/** An object with only these fields, so that a misspelled field is not ignored. */
const record =
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

const text = is("a text", (value) => typeof value === "string");
const match = is("a text or a pattern", (value) => typeof value === "string" || value instanceof RegExp);
const flag = is("true or false", (value) => typeof value === "boolean");
const amount = is("a number from 0 on", (value) => typeof value === "number" && value >= 0 && value < Infinity);
const count = is("a whole number from 0 on", (value) => Number.isSafeInteger(value) && Number(value) >= 0);
const anything: Check = () => undefined;
const deltas: Check = (value, path) => (typeof value === "string" ? undefined : list(text)(value, path));
const metadata = is(
  "objects by provider",
  (value) => isPlainObject(value) && Object.values(value).every((item) => isPlainObject(item)),
);

const call = record<ScriptedCall>({ id: text, name: text, arguments: anything, input: deltas, metadata }, ["name"]);

const part: Check = (value, path) => {
  if (isPlainObject(value) && "thinking" in value) return record<object>({ thinking: deltas, metadata })(value, path);
  if (isPlainObject(value) && "text" in value) return record<object>({ text: deltas, metadata })(value, path);
  return call(value, path);
};

const apiError = record<object>({ status: count, message: text, retryAfterMs: amount }, ["status"]);

export const checkAnswer: Check = record<ScriptedAnswer>({
  thinking: deltas,
  text: deltas,
  calls: list(call),
  metadata,
  parts: list(part),
  usage: record<NonNullable<ScriptedAnswer["usage"]>>({
    inputTokens: amount,
    outputTokens: amount,
    cacheReadTokens: amount,
    cacheWriteTokens: amount,
    reasoningTokens: amount,
  }),
  finishReason: text,
  error: (value, path) => (value instanceof Error ? undefined : apiError(value, path)),
  after: count,
  delayMs: amount,
  deltaDelayMs: amount,
  hang: flag,
});

const expectedMessage = record<ExpectedMessage>({
  role: text,
  text: match,
  thinking: match,
  calls: list(record<object>({ id: text, name: text, arguments: anything })),
  results: list(record<object>({ id: text, name: text, value: anything, isError: flag })),
  files: list(text),
});

export const checkExpectation: Check = record<Expectation>({
  lastUser: match,
  system: match,
  tools: list(text),
  messages: list(expectedMessage),
  endsWith: list(expectedMessage),
  where: is("a function", (value) => typeof value === "function"),
});
