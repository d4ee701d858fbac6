import type { Failure } from "../../../agent/signal.ts";
import { HeddleError } from "../../../thread/errors.ts";
import type { Clock } from "../../../thread/ports.ts";
import { KINDS } from "./kinds.ts";
import { retryAfterOf } from "./retry-after.ts";
import { factsOf, type ThrownFacts } from "./thrown.ts";
import { promptLimitsIn } from "./too-long.ts";

/**
 * What an error of a provider's package comes to. It goes by what the error holds, not by its class, so any copy of any
 * package will do. The message has none of the provider's words but its code: they may quote the request, or a key.
 */
export function classifyModelError(error: unknown, clock?: Clock): Failure {
  if (HeddleError.isInstance(error)) {
    const { code, message, retryable } = error;
    return { code, message, retryable };
  }
  const facts = factsOf(error);
  const words = facts.words.join(" ");
  const kind = KINDS.find(({ is }) => is({ ...facts, words }));
  const asked = facts.header("x-should-retry");
  const usual = kind?.retryable ?? facts.retryable ?? false;
  const retryable = asked === "true" || (usual && asked !== "false");
  const retryAfterMs = retryable ? retryAfterOf(facts, clock) : undefined;
  return {
    ...(kind === undefined
      ? { code: "model_error", message: `The model call failed${saidBy(facts)}. \`cause\` has the provider's error.` }
      : { code: kind.code, message: `${kind.what}${saidBy(facts)}. ${kind.advice}` }),
    retryable,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(kind?.code === "model_context_too_long" && promptLimitsIn(`${facts.text}\n${words}`)),
  };
}

/** A status and one word of the provider's program, not of the package; words with digits in them could be keys. */
function saidBy({ status, words }: ThrownFacts): string {
  const word = words.find((word) => /^(?!AI_)[A-Za-z]+([_.-][A-Za-z]+)+$/.test(word) && word.length <= 48);
  const said = [status, word].filter((part) => part !== undefined).join(" ");
  return said === "" ? "" : ` (${said})`;
}
