import type { Entry } from "../../thread/entry.ts";
import { HeddleError } from "../../thread/errors.ts";
import type { Thread } from "../../thread/thread.ts";
import { SpecificationFailure } from "./failure.ts";
import { mismatches, type Partly, show, shown } from "./match.ts";

/** Any part of an entry. */
export type ExpectedEntry = Partly<Pick<Entry, "id" | "seq" | "at">> & {
  readonly kind?: string;
  readonly payload?: { readonly [field: string]: unknown };
  readonly refs?: { readonly [key: string]: unknown };
};

/** Any part of a directive. */
export type ExpectedDirective<Directive> = Directive extends object ? Partly<Directive> : never;

interface HasThread {
  readonly thread: Thread;
}

interface Step<Agent, Directive> {
  readonly agent: Agent;
  readonly directives: readonly Directive[];
}

type Ended<Agent, Directive> = Step<Agent, Directive> | { readonly error: unknown };

/** The result of a signal, to compare with expectations. */
export class Outcome<Agent, Directive extends object> {
  readonly #before: Agent & HasThread;
  readonly #step: Ended<Agent & HasThread, Directive>;

  private constructor(before: Agent & HasThread, step: Ended<Agent & HasThread, Directive>) {
    this.#before = before;
    this.#step = step;
  }

  static of<Agent extends HasThread, Directive extends object>(
    before: Agent,
    run: () => Step<Agent, Directive>,
  ): Outcome<Agent, Directive> {
    try {
      return new Outcome<Agent, Directive>(before, run());
    } catch (error) {
      return new Outcome<Agent, Directive>(before, { error });
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

  /** Expects a refusal with this code, as an error or a directive, and an unchanged agent. */
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

  get #done(): Step<Agent & HasThread, Directive> {
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

/** Shows the differences from all directives of the same type, because the intended one is usually among them. */
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

/** The failure of the directive that reports a refusal, if any. */
function refusalIn(directives: readonly object[]): unknown {
  const refusal = directives.find((directive) => /^emit_.*_error$/.test(typeOf(directive)));
  return refusal !== undefined && "failure" in refusal ? refusal.failure : undefined;
}

function isFailure(value: unknown): value is { readonly code: string } {
  return typeof value === "object" && value !== null && "code" in value;
}
