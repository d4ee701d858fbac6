import { type ErrorFacts, HeddleError } from "../thread/errors.ts";
import { notOneOf } from "../thread/json.ts";

/**
 * A message that cannot be sent. Codes: `file_unsendable` (the bytes are still in a blob, or the URL is invalid), which
 * `validateMessages` finds beforehand as `unresolved_file` and `invalid_file_url`; `invalid_message` (of another format);
 * `invalid_options` (unknown format).
 */
export class ProviderError extends HeddleError {
  static override readonly className: string = "ProviderError";
}

export function fileUnsendable(message: string, cause?: unknown): ProviderError {
  const facts: ErrorFacts = { code: "file_unsendable", message, cause };
  return new ProviderError(facts);
}

export function unknownProvider(known: readonly string[], provider: unknown): ProviderError {
  return new ProviderError({ code: "invalid_options", message: `provider ${notOneOf(known, provider)}.` });
}
