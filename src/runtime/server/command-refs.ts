import type { Remember } from "../../agent/signal.ts";
import { copyRefs, type Refs } from "../../thread/entry.ts";
import { isPlainObject } from "../../thread/json.ts";
import type { Author } from "../../thread/message.ts";
import { checkAuthor } from "../author.ts";
import { checkBy } from "../option-names.ts";
import type { RuntimePorts } from "../ports.ts";
import { RequestError } from "../request/request-error.ts";
import type { DecideOptions, Decider, SenderOptions } from "./options.ts";

/** The agent writes these refs itself. */
const OWN_REFS = ["requestId", "runId", "callId", "toolCallId", "iteration", "signalId"] as const;

/** The refs that a command adds to its entry. They are checked here, because later a bad one would fail the request. */
export function commandRefs({ source, refs }: SenderOptions): { readonly refs?: Refs } {
  if (source === undefined && refs === undefined) return {};
  const isNamed = source === undefined || (typeof source === "string" && source !== "");
  if (!isNamed) throw invalid("source must be text, and not empty: who sent the command.");
  const copied = refs === undefined ? {} : copyRefs(refs, "refs");
  const own = OWN_REFS.find((name) => Object.hasOwn(copied, name));
  if (own !== undefined) throw invalid(`refs.${own} is written by the agent. Use another name.`);
  return { refs: { ...copied, ...(source !== undefined && { source: source.toWellFormed() }) } };
}

/** The recorded fields of a decision. */
export function decisionOf({ by, reason, author, requestId, ...options }: Decider & Omit<DecideOptions, "remember">): {
  readonly requestId?: string;
  readonly by?: string;
  readonly reason?: string;
  readonly author?: Author;
  readonly refs?: Refs;
} {
  checkBy(by);
  if (reason !== undefined && typeof reason !== "string") throw invalid("reason must be text.");
  return {
    ...(requestId !== undefined && { requestId }),
    ...(by !== undefined && { by: by.toWellFormed() }),
    ...(reason !== undefined && { reason: reason.toWellFormed() }),
    ...(author !== undefined && { author: checkAuthor(author) }),
    ...commandRefs(options),
  };
}

/** A rule to remember, with its id. A copy of the pattern, because the caller may change it. */
export function rememberOf(
  { remember }: DecideOptions,
  { ids }: Pick<RuntimePorts, "ids">,
): { readonly remember?: Remember } {
  if (remember === undefined) return {};
  const { pattern } = remember;
  const copy = isPlainObject(pattern) ? { ...pattern } : pattern; // other values are refused with the rule
  return { remember: { ...remember, pattern: copy, opId: ids("rule") } };
}

function invalid(message: string): RequestError {
  return new RequestError({ code: "invalid_options", message });
}
