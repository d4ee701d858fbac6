const identity = Symbol.for("heddle.error");

/** The facts of every error: a stable `code` to branch on, and a message that says what to do. */
export interface ErrorFacts {
  readonly code: string;
  readonly message: string;
  readonly retryable?: boolean | undefined;
  readonly cause?: unknown;
}

/**
 * The base class of every error Heddle throws. Branch on `code`. `isInstance` also recognizes an error thrown by another
 * copy of the package.
 *
 * @example
 * try {
 *   await store.append("thread_1", { payload: { text: "hi" } }, { expectedRev: 3 });
 * } catch (error) {
 *   if (!HeddleError.isInstance(error) || error.code !== "conflict") throw error;
 * }
 */
export class HeddleError extends Error {
  /** The `name` of its errors. A minifier would change `Function.name`. */
  static readonly className: string = "HeddleError";

  readonly code: string;
  /** Whether the same call may succeed later. Default false. */
  readonly retryable: boolean;

  constructor(facts: ErrorFacts) {
    super(facts.message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.code = facts.code;
    this.retryable = facts.retryable ?? false;
    Object.defineProperty(this, "name", { value: new.target.className });
    Object.defineProperty(this, identity, { value: lineage(new.target) });
  }

  static isInstance<T extends HeddleError>(this: ErrorClass<T>, error: unknown): error is T {
    const names = markOf(error, identity);
    return Array.isArray(names) && names.includes(this.className);
  }
}

interface ErrorClass<T> {
  readonly className: string;
  readonly prototype: T;
}

/** An invalid thread, entry or input. */
export class ThreadError extends HeddleError {
  static override readonly className: string = "ThreadError";
  /** The path of the wrong value, such as `payload.items[2].when`. */
  declare readonly path?: string;
  /** The index of the first bad entry of a serialized thread. */
  declare readonly index?: number;
  declare readonly seq?: number;
  declare readonly entryId?: string;
  /** The lane to load. */
  declare readonly lane?: string;

  constructor(facts: ErrorFacts & { path?: string; index?: number; seq?: number; entryId?: string; lane?: string }) {
    super(facts);
    if (facts.path !== undefined) this.path = facts.path;
    if (facts.index !== undefined) this.index = facts.index;
    if (facts.seq !== undefined) this.seq = facts.seq;
    if (facts.entryId !== undefined) this.entryId = facts.entryId;
    if (facts.lane !== undefined) this.lane = facts.lane;
  }
}

/** The value of a symbol property, or undefined. Works for any value, even a revoked proxy. */
export function markOf(value: unknown, mark: symbol): unknown {
  try {
    return typeof value === "object" && value !== null ? Reflect.get(value, mark) : undefined;
  } catch {
    return undefined;
  }
}

/** Handles the rejection of a promise in the place of another value, because an unhandled one ends the process. */
export function ignoreRejection(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  new Promise((resolve) => resolve(value)).catch(() => undefined);
}

function lineage(start: typeof HeddleError): readonly string[] {
  const names: string[] = [];
  for (
    let type: unknown = start;
    typeof type === "function" && "className" in type;
    type = Object.getPrototypeOf(type)
  ) {
    names.push(String(type.className));
  }
  return names;
}
