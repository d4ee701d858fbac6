import type { Entry } from "../../thread/entry.ts";
import { HeddleError } from "../../thread/errors.ts";
import type { Thread } from "../../thread/thread.ts";

/** An expected entry. Only the given fields are compared. */
export type ExpectedEntry = ExpectedValue<Pick<Entry, "id" | "seq" | "at">> & {
  readonly kind?: string;
  readonly payload?: { readonly [field: string]: unknown };
  readonly refs?: { readonly [key: string]: unknown };
};

/** An expected directive. Only the given fields are compared. */
export type ExpectedDirective<Directive> = Directive extends object ? ExpectedValue<Directive> : never;

interface HasThread {
  readonly thread: Thread;
}

interface AgentStep<Agent, Directive> {
  readonly agent: Agent;
  readonly directives: readonly Directive[];
}

type StepOrError<Agent, Directive> = AgentStep<Agent, Directive> | { readonly error: unknown };

/** The result of a signal, with methods that check it. */
export class SpecificationOutcome<Agent, Directive extends object> {
  readonly #before: Agent & HasThread;
  readonly #step: StepOrError<Agent & HasThread, Directive>;

  private constructor(before: Agent & HasThread, step: StepOrError<Agent & HasThread, Directive>) {
    this.#before = before;
    this.#step = step;
  }

  static of<Agent extends HasThread, Directive extends object>(
    before: Agent,
    run: () => AgentStep<Agent, Directive>,
  ): SpecificationOutcome<Agent, Directive> {
    try {
      return new SpecificationOutcome<Agent, Directive>(before, run());
    } catch (error) {
      return new SpecificationOutcome<Agent, Directive>(before, { error });
    }
  }

  /** The agent after the signal. */
  get agent(): Agent {
    return this.#done.agent;
  }

  /** The entries that the signal added. */
  get entries(): readonly Entry[] {
    const { thread } = this.#done.agent;
    return thread.rev === this.#before.thread.rev ? [] : thread.slice(this.#before.thread.rev, thread.lastSeq);
  }

  get directives(): readonly Directive[] {
    return this.#done.directives;
  }

  /**
   * Expects exactly these entries, and these directives in order, with others allowed in between. Name only the relevant
   * fields. An empty list of directives expects none. Default: directives are not checked.
   */
  // biome-ignore lint/suspicious/noThenProperty: given, when, then are the words; awaiting one is refused below
  then(entries: readonly ExpectedEntry[], directives?: readonly ExpectedDirective<Directive>[]): this {
    if (!Array.isArray(entries)) {
      throw new SpecificationFailure("Do not await a specification: call .then([entries], [directives]).");
    }
    compare("entries", this.entries, entries);
    if (directives !== undefined) this.#compareDirectives(directives);
    return this;
  }

  /** Checks that the signal was refused with this code, as an error or a directive, and that the agent is unchanged. */
  thenRejects(code: string): this {
    const refusal = "error" in this.#step ? this.#step.error : refusalIn(this.#step.directives);
    const actual = HeddleError.isInstance(refusal) || isFailure(refusal) ? refusal.code : undefined;
    if (actual !== code) {
      const got = refusal === undefined ? "it was accepted" : `got ${actual ?? String(refusal)}`;
      throw new SpecificationFailure(`Expected a refusal with the code ${code}; ${got}.`, code, actual);
    }
    if (!("error" in this.#step) && this.#step.agent !== this.#before) {
      throw new SpecificationFailure("The refusal has changed the agent.");
    }
    return this;
  }

  get #done(): AgentStep<Agent & HasThread, Directive> {
    if (!("error" in this.#step)) return this.#step;
    throw this.#step.error;
  }

  #compareDirectives(expected: readonly ExpectedDirective<Directive>[]): void {
    const { directives } = this;
    if (expected.length === 0) compare("directives", directives, []);
    let from = 0;
    for (const [index, one] of expected.entries()) {
      const at = directives.findIndex((given, place) => place >= from && mismatches(given, one, "").length === 0);
      if (at < 0) throw missing(index, one, directives, from);
      from = at + 1;
    }
  }
}

function compare(what: string, actual: readonly unknown[], expected: readonly unknown[]): void {
  const lines = mismatches(actual, expected, what);
  if (lines.length === 0) return;
  throw new SpecificationFailure(
    `The ${what} are not as expected:\n  ${lines.join("\n  ")}`,
    expected,
    shown(actual, expected),
  );
}

/**
 * Makes the failure for a missing directive. Shows the differences from all directives of the same type, because the
 * intended one is usually among them.
 */
function missing(index: number, one: object, directives: readonly object[], from: number): SpecificationFailure {
  const rest = directives.slice(from);
  const near = rest.filter((given) => typeOf(given) === typeOf(one));
  const details = near.flatMap((given) => mismatches(given, one, `directives[${directives.indexOf(given)}]`));
  const given = directives.map(typeOf).join(", ") || "none";
  const what = `No directive${from > 0 ? ` after directives[${from - 1}]` : ""} is the expected ${index + 1}. one, ${show(one)}.`;
  return new SpecificationFailure([what, `Given were: ${given}.`, ...details].join("\n  "), one, shown(near[0], one));
}

function typeOf(directive: object): string {
  return "type" in directive ? String(directive.type) : "?";
}

/** Returns the error in the directive that reports a refusal, if any. */
function refusalIn(directives: readonly object[]): unknown {
  const refusal = directives.find((directive) => /^emit_.*_error$/.test(typeOf(directive)));
  return refusal !== undefined && "failure" in refusal ? refusal.failure : undefined;
}

function isFailure(value: unknown): value is { readonly code: string } {
  return typeof value === "object" && value !== null && "code" in value;
}

/** The error of a failed specification. Has both values as fields, so that a test runner can show a diff. */
export class SpecificationFailure extends Error {
  override readonly name = "SpecificationFailure";
  readonly expected: unknown;
  readonly actual: unknown;
  /** Makes test runners show a diff. */
  readonly showDiff = true;

  constructor(message: string, expected?: unknown, actual?: unknown) {
    super(message);
    this.expected = expected;
    this.actual = actual;
  }
}

/** An expected value: any part of an object, a complete list, or a matcher of the test runner. */
export type ExpectedValue<T = unknown> = T extends readonly (infer Item)[]
  ? readonly ExpectedValue<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]?: ExpectedValue<T[Key]> | AsymmetricMatcher }
    : T | AsymmetricMatcher;

/** A matcher such as `expect.any(String)` of vitest and jest. */
export interface AsymmetricMatcher {
  asymmetricMatch(value: unknown): boolean;
}

/** Lists the differences between a value and its expectation, one line each. */
function mismatches(actual: unknown, expected: unknown, path: string): readonly string[] {
  if (Object.is(actual, expected)) return [];
  if (isMatcher(expected)) return expected.asymmetricMatch(actual) ? [] : [line(path, String(expected), actual)];
  if (Array.isArray(expected)) return inList(actual, expected, path);
  if (!isObject(expected) || !isObject(actual)) return [line(path, show(expected), actual)];
  return Object.entries(expected).flatMap(([key, value]) => mismatches(actual[key], value, `${path}.${key}`));
}

/** Returns only the parts of a value that the expectation names, for a diff. */
function shown(actual: unknown, expected: unknown): unknown {
  if (Array.isArray(expected) && Array.isArray(actual)) return actual.map((item, at) => shown(item, expected[at]));
  if (!isObject(expected) || !isObject(actual) || isMatcher(expected)) return actual;
  return Object.fromEntries(Object.keys(expected).map((key) => [key, shown(actual[key], expected[key])]));
}

function inList(actual: unknown, expected: readonly unknown[], path: string): readonly string[] {
  if (!Array.isArray(actual)) return [line(path, show(expected), actual)];
  const length = Math.max(actual.length, expected.length);
  return Array.from({ length }, (_, at) => {
    if (at >= expected.length) return [line(`${path}[${at}]`, "nothing", actual[at])];
    return mismatches(actual[at], expected[at], `${path}[${at}]`);
  }).flat();
}

function line(path: string, expected: string, actual: unknown): string {
  return `${path}: expected ${expected}, got ${show(actual)}`;
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}

function isMatcher(value: unknown): value is AsymmetricMatcher {
  return isObject(value) && typeof value["asymmetricMatch"] === "function";
}

function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
