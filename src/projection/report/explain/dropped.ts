import type { Call, ResultItem } from "../../history/block.ts";
import type { Run } from "../../run/run.ts";
import type { Fate } from "./fate.ts";

/** Entries that are never shown: blank ones, and results without a waiting call. */
export function* fatesOfDropped({ engine }: Run): Iterable<[number, Fate]> {
  const { blocks, dropped } = engine.history;
  const answered = blocks.flatMap(({ calls }) => calls.filter(({ result }) => result !== undefined));
  const byId = Map.groupBy(answered, ({ call }) => call.id);
  const byName = Map.groupBy(answered, ({ call }) => call.name);
  for (const { seq, rule, result } of dropped) {
    const { toolCallId, name = "" } = result ?? {};
    const known = (toolCallId === undefined ? byName.get(name) : byId.get(toolCallId)) ?? [];
    const isSecond = result !== undefined && known.some((call) => wasAnsweredBefore(call, result));
    yield [seq, { status: "dropped", rule: isSecond ? "second_result" : rule, tokens: 0 }];
  }
}

function wasAnsweredBefore({ by, result: first }: Call, { callId, seq }: ResultItem): boolean {
  const isOfCall = by.callId === undefined || callId === undefined || by.callId === callId;
  return isOfCall && first !== undefined && first.seq < seq;
}
