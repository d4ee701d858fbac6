import { type ErrorFacts, HeddleError } from "../thread/errors.ts";

/**
 * A message that no wire format can carry. Code: `file_unsendable` (its bytes are still in a blob, or its URL is none).
 * `validateMessages` finds the same beforehand, as `unresolved_file` and `invalid_file_url`.
 */
export class ProviderError extends HeddleError {
  static override readonly className: string = "ProviderError";
}

export function fileUnsendable(message: string, cause?: unknown): ProviderError {
  const facts: ErrorFacts = { code: "file_unsendable", message, cause };
  return new ProviderError(facts);
}
