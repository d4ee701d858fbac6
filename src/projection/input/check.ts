import { describe, isPlainObject } from "../../thread/json.ts";
import { Thread } from "../../thread/thread.ts";
import type { TokenCounter } from "../../tokens/counter.ts";
import { ProjectionError } from "../error.ts";
import { isProjectorName, PROJECTORS } from "../rules.ts";
import type { Readers } from "../transcript/reader.ts";
import type { ProjectionInput } from "./input.ts";

const FIELDS: { readonly [Field in keyof Required<ProjectionInput>]: true } = {
  thread: true,
  policy: true,
  pending: true,
  system: true,
  tools: true,
  lane: true,
  model: true,
  readers: true,
  tokenCounter: true,
  rules: true,
  previous: true,
};

/** The fields that were passed. Rejects unknown ones, so that a typo is not silently ignored. */
export function givenFields<T extends object>(given: T, what: string, others: readonly string[] = []): T {
  return knownFields(given, what, [...INPUT_FIELDS, ...others]);
}

const INPUT_FIELDS = Object.keys(FIELDS);

/** The same for an object with other fields. */
export function knownFields<T extends object>(given: T, what: string, known: readonly string[]): T {
  if (!isPlainObject(given)) {
    const message = `${what} must be a plain object, not ${describe(given)}.`;
    throw new ProjectionError({ code: "invalid_input", message });
  }
  const fields = Object.entries(given);
  for (const [field, value] of fields) {
    if (value === undefined || known.includes(field)) continue;
    const message = `${what} has no field ${field}. It has: ${known.join(", ")}.`;
    throw new ProjectionError({ code: "invalid_input", message });
  }
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined)) as T; // only undefined fields are removed
}

/** Checks the fields whose use comes too late, or too often, for a check. */
export function checkInput({ thread, lane, model, readers, tokenCounter, rules, previous }: ProjectionInput): void {
  if (!Thread.isThread(thread)) throw invalid("thread", "must be a Thread", thread);
  checkName("lane", lane);
  checkName("model", model);
  if (readers !== undefined) checkReaders(readers);
  if (tokenCounter !== undefined && !isCounter(tokenCounter)) {
    throw invalid("tokenCounter", "must be an object with count(text, model)", tokenCounter);
  }
  if (rules !== undefined && !isProjectorName(rules)) {
    throw invalid("rules", `must be one of ${PROJECTORS.join(", ")}`, rules);
  }
  if (previous !== undefined && !Array.isArray(Object(previous).messages)) {
    throw invalid("previous", "must be a projection", previous);
  }
}

export function checkReaders(readers: Readers): void {
  if (!isPlainObject(readers)) throw invalid("readers", "must be an object of readers by kind", readers);
  for (const [kind, reader] of Object.entries(readers)) {
    const { version, read, upcast } = Object(reader);
    const isReader = Number.isSafeInteger(version) && version >= 1 && typeof read === "function";
    if (isReader && (upcast === undefined || typeof upcast === "function")) continue;
    throw invalid(`readers.${kind}`, "must be { version, upcast?, read }, version a whole number of at least 1");
  }
}

function isCounter(counter: TokenCounter): boolean {
  return typeof counter === "object" && counter !== null && typeof counter.count === "function";
}

export function checkName(path: string, value: unknown): void {
  if (value === undefined || (typeof value === "string" && value !== "")) return;
  throw invalid(path, "must be a non-empty string", value);
}

/** An error that names the field and the type of its value, never the value. */
export function invalid(path: string, trouble: string, value?: unknown): ProjectionError {
  const given = value === undefined ? "" : `, not ${value === "" ? "an empty text" : describe(value)}`;
  return new ProjectionError({ code: "invalid_input", message: `The input's ${path} ${trouble}${given}.` });
}
