import fc from "fast-check";
import { expect, test } from "vitest";
import { choices, play } from "../agent/support/play.ts";

const TERMINAL = /^request_(completed|failed|cancelled)$/;

test("every request ends with exactly one terminal event, the last of its events", () => {
  fc.assert(
    fc.property(choices, (given) => {
      const { events, moves } = play(given);
      const accepted = events.filter(({ kind }) => kind === "request_started").map(({ requestId }) => requestId);
      for (const requestId of accepted) {
        const own = events.filter((event) => event.requestId === requestId).map(({ kind }) => kind);
        expect(own.filter((kind) => TERMINAL.test(kind))).toHaveLength(1);
        expect(own.at(-1)).toMatch(TERMINAL);
      }
      expect(new Set(events.map(({ requestId }) => requestId))).toEqual(new Set(accepted));
      const stopped = moves.flatMap(({ directives }) => directives.filter(({ type }) => type === "stop"));
      expect(stopped).toHaveLength(accepted.length);
    }),
    { numRuns: 200 },
  );
});

test("every request has exactly one end in the log, its last entry", () => {
  fc.assert(
    fc.property(choices, (given) => {
      const { agent, events } = play(given);
      for (const { requestId, kind } of events) {
        if (kind !== "request_started") continue;
        const ends = agent.thread.filterByRef("requestId", requestId).map(({ payload }) => "end" in payload);
        expect(ends.filter(Boolean)).toHaveLength(1);
        expect(ends.at(-1)).toBe(true);
      }
    }),
    { numRuns: 200 },
  );
});
