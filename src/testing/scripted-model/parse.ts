import { type Check, checkAnswer, checkExpectation } from "./checks.ts";
import { invalidScript } from "./errors.ts";
import type { ScriptedRequest } from "./request.ts";
import type { Expectation, ScriptedAnswer, ScriptedExpect, ScriptedStep } from "./script.ts";

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
  const { expect, ...rest }: typeof given = checked(given, place, isObject);
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

function checked<T>(given: T, place: string, check: Check): T {
  const trouble = check(given, place);
  if (trouble !== undefined) throw invalidScript(trouble);
  return given;
}

const isObject: Check = (value, path) =>
  typeof value === "object" && value !== null ? undefined : `${path} must be a text, an object or a function`;
