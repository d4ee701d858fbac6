import type { CallDiff } from "../contract/call.ts";
import { badField } from "../http/error.ts";
import { type Answer, json } from "../http/reply.ts";
import type { Call } from "../http/router.ts";
import { causesOf } from "./causes.ts";
import { changesOf, sameAtFirst } from "./changes.ts";
import { shownCall } from "./shown-call.ts";

/** GET /api/threads/{id}/diff?a=&b=: two calls, message by message. */
export async function diffCalls({ studio, query, param }: Call): Promise<Answer<CallDiff>> {
  const id = param("id");
  const [first, second] = await Promise.all(
    ["a", "b"].map(async (name) => {
      const callId = query.get(name);
      if (callId === null || callId === "") throw badField(name, "the id of a call, and is missing");
      return shownCall(studio, id, await studio.callSeqs.find(id, callId));
    }),
  );
  if (first === undefined || second === undefined) throw badField("a and b", "the ids of two calls");
  const causes = causesOf(first, second);
  const [a, b] = [first.messages, second.messages];
  const problem = first.problem ?? second.problem;
  return json<CallDiff>({
    same: sameAtFirst(a, b),
    a,
    b,
    changes: changesOf(first, second),
    causes,
    ...(problem && { problem }),
  });
}
