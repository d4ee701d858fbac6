import fc from "fast-check";
import type { Entry } from "heddle";
import { expect, test } from "vitest";
import { choices, play } from "../agent/support/play.ts";

test("every call of a request that has ended has exactly one result in the log", () => {
  fc.assert(
    fc.property(choices, (given) => {
      const { agent } = play(given);
      const entries = agent.thread.toArray();
      const asked = entries.flatMap(callsOf).sort();
      const answered = entries
        .filter((entry) => field(entry, "role") === "tool")
        .map(resultOf)
        .sort();
      expect(answered).toEqual(asked);
    }),
    { numRuns: 200 },
  );
});

test("every result is emitted once, in the order of the calls", () => {
  fc.assert(
    fc.property(choices, (given) => {
      const { agent, events } = play(given);
      for (const entry of agent.thread.toArray()) {
        const told = events.filter(({ kind, callId }) => kind === "tool_completed" && callId === entry.refs.callId);
        const asked = callsOf(entry);
        if (asked.length > 0) expect(told.map(({ callId, toolCallId }) => `${callId} ${toolCallId}`)).toEqual(asked);
      }
    }),
    { numRuns: 200 },
  );
});

function callsOf(entry: Entry): readonly string[] {
  const calls = field(entry, "toolCalls");
  return Array.isArray(calls) ? calls.map(({ id }: { id: string }) => `${entry.refs.callId} ${id}`) : [];
}

function resultOf(entry: Entry): string {
  return `${entry.refs.callId} ${field(entry, "toolCallId")}`;
}

function field({ payload }: Entry, name: string): unknown {
  return Reflect.get(payload, name);
}
