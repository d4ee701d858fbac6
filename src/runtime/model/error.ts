import type { ModelAnswer } from "../../agent/model-call.ts";
import type { Failure } from "../../agent/signal.ts";
import { HeddleError } from "../../thread/errors.ts";

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
