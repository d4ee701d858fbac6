import { copyRefs, type Refs } from "../../thread/entry.ts";
import { RequestError } from "../request/request-error.ts";
import type { Decider, SenderOptions } from "./options.ts";

/** The agent writes these refs itself. */
const OWN_REFS = ["requestId", "runId", "callId", "toolCallId", "iteration", "signalId"] as const;

/** The refs that a command adds to its entry. They are checked here, because later a bad one would fail the request. */
export function commandRefs({ source, refs }: SenderOptions): { readonly refs?: Refs } {
  if (source === undefined && refs === undefined) return {};
  if (source !== undefined && typeof source !== "string") throw invalid("source must be text: who sent the command.");
  const copied = refs === undefined ? {} : copyRefs(refs, "refs");
  const own = OWN_REFS.find((name) => Object.hasOwn(copied, name));
  if (own !== undefined) throw invalid(`refs.${own} is written by the agent. Use another name.`);
  return { refs: { ...copied, ...(source !== undefined && { source: source.toWellFormed() }) } };
}

/** What is recorded of a decision. */
export function decisionOf({ by, reason, ...options }: Decider): {
  readonly by?: string;
  readonly reason?: string;
  readonly refs?: Refs;
} {
  if (by !== undefined && typeof by !== "string") throw invalid("by must be text: the name of a person.");
  if (reason !== undefined && typeof reason !== "string") throw invalid("reason must be text.");
  return {
    ...(by !== undefined && { by: by.toWellFormed() }),
    ...(reason !== undefined && { reason: reason.toWellFormed() }),
    ...commandRefs(options),
  };
}

function invalid(message: string): RequestError {
  return new RequestError({ code: "invalid_options", message });
}
