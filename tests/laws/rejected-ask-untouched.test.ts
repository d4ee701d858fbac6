import fc from "fast-check";
import { expect, test } from "vitest";
import { cmd } from "../../src/agent/cmd.ts";
import type { Signal } from "../../src/agent/signal.ts";
import { choices, play } from "../agent/support/play.ts";

type Ask = Extract<Signal, { type: "ask" }>;

/** Each is refused by an agent that is idle, and by one that is at work. */
const refused: readonly Ask[] = [
  { type: "ask", content: "" },
  { type: "ask", content: [{ type: "text", text: " \n" }] },
  { type: "ask", content: "Go", options: { allowedTools: ["none of them"] } },
  { type: "ask", content: "Go", options: { maxIterations: 0 } },
  { type: "ask", content: "Go", options: { contextPolicy: { maxInputTokens: 10, reserveOutputTokens: 20 } } },
  { type: "ask", content: "long ".repeat(40_000) },
  { type: "ask", content: "a lone surrogate \ud800" },
  { type: "ask", content: "Go", refs: { callId: "call_1" } },
];

test("an ask that is refused leaves the very same agent and thread, byte for byte", () => {
  fc.assert(
    fc.property(choices, fc.constantFrom(...refused), (given, ask) => {
      for (const { after } of play(given).moves) {
        const text = JSON.stringify(after.thread);
        const { agent, directives } = cmd(after, ask);
        expect(directives.map(({ type }) => type)).toEqual(["emit_request_error"]);
        expect(agent).toBe(after);
        expect(JSON.stringify(agent.thread)).toBe(text);
      }
    }),
    { numRuns: 40 },
  );
});
