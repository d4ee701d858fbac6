import type { AnyAgent } from "../../agent/definition/config.ts";
import type { EndedRun } from "../../agent/react/state.ts";
import type { Entry } from "../../thread/entry.ts";
import { isPlainObject, type JsonValue } from "../../thread/json.ts";
import type { Content } from "../../thread/message.ts";
import { checkOutput } from "../output/check-output.ts";
import { requestCancelled, requestFailed } from "./request-error.ts";
import { type RequestResult, resultIn } from "./result.ts";

/** What a request came to that has ended, from the entries that the log has of it. */
export async function pastResult(
  { output }: Pick<AnyAgent, "output">,
  entries: readonly Entry[],
  ended: EndedRun,
): Promise<RequestResult> {
  const { end, run } = ended;
  if (end.status === "failed") throw requestFailed(run.requestId, end.failure);
  if (end.status === "cancelled") throw requestCancelled(run.requestId, end.reason);
  return resultIn(entries, ended, await objectIn(output, entries, run.callId));
}

/** Objects are not in the log: the last answer is read once more. */
async function objectIn(
  output: AnyAgent["output"],
  entries: readonly Entry[],
  callId: string | undefined,
): Promise<JsonValue | undefined> {
  if (output === undefined || callId === undefined) return undefined;
  const answer = entries.find(({ refs, payload }) => refs.callId === callId && isAnswer(payload));
  const content = (answer?.payload as { readonly content?: Content } | undefined)?.content; // written by us
  if (content === undefined) return undefined;
  const checked = await checkOutput(content, output);
  return checked.ok ? checked.object : undefined;
}

function isAnswer(payload: unknown): boolean {
  return isPlainObject(payload) && payload["role"] === "assistant";
}
