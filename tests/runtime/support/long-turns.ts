import type { EntryInput, JsonObject } from "heddle";

interface TurnOptions {
  readonly lane?: string;
  /** Default true: an answer ends the request. */
  readonly ends?: boolean;
}

/** An ask, calls with a result each, and an answer, as an agent writes them. */
export function longTurn(
  turn: number,
  calls: number,
  { lane = "default", ends = true }: TurnOptions = {},
): EntryInput[] {
  const ids = { requestId: `req_${turn}`, runId: `run_${turn}` };
  const message = (payload: JsonObject, refs: Record<string, string> = {}): EntryInput => ({
    kind: "ai_message",
    payload: { contextRef: lane, ...payload, ...ids },
    refs: { ...ids, ...refs },
  });
  const ask = message({ role: "user", content: `Find the yarn of ${turn}.` });
  const work = Array.from({ length: calls }, (_, index) => {
    const [callId, id] = [`call_${turn}_${index}`, `tool_${turn}_${index}`];
    const toolCalls = [{ id, name: "search", arguments: { query: `yarn ${index}` } }];
    const content = `Found ${index}. ${"It is blue. ".repeat(10)}`;
    return [
      message({ role: "assistant", content: "", toolCalls }, { callId }),
      message({ role: "tool", toolCallId: id, name: "search", content }, { callId, toolCallId: id }),
    ];
  }).flat();
  const end = { status: "completed", terminationReason: "final_answer" };
  const answer = message({ role: "assistant", content: "Here it is.", end }, { callId: `answer_${turn}` });
  return [ask, ...work, ...(ends ? [answer] : [])];
}
