import { type ErrorFacts, HeddleError } from "../../thread/errors.ts";

type Facts = Omit<ErrorFacts, "code"> & {
  readonly code?: string | undefined;
  readonly path?: string | undefined;
  readonly retryAfterMs?: number | undefined;
};

/**
 * Something wrong with a tool. A tool may throw one: the model reads the message, `retryable: true` allows another
 * attempt, and `code` stands beside the message in the result. Put nothing secret into the message; `cause` is for `onError`.
 *
 * @example
 * throw new ToolError({ message: "Too many searches at once.", retryable: true, retryAfterMs: 2_000 });
 */
export class ToolError extends HeddleError {
  static override readonly className: string = "ToolError";
  /** The field that is wrong: `weather.timeoutMs`. */
  declare readonly path?: string;
  /** How long to wait before another attempt. */
  declare readonly retryAfterMs?: number;

  constructor({ code = "tool_failed", path, retryAfterMs, ...facts }: Facts) {
    super({ ...facts, code });
    if (path !== undefined) this.path = path;
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
  }
}
