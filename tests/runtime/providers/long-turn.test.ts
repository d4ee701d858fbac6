import { expect, test } from "vitest";
import { defineTool } from "../../../src/agent/definition/tool.ts";
import { isSoak } from "../../support/case-budget.ts";
import { stage } from "./support/stage.ts";

// A turn far longer than any window: the window moves and summaries are made inside the tool loop.

/** A window holds about 14 calls, so the fewer calls fill it many times too. */
const CALLS = isSoak ? 300 : 120;
/** A soak has results of 50 kB and the window of the real model. Otherwise both are smaller by one factor. */
const FACTOR = isSoak ? 1 : 10;
const RESULT_BYTES = 50_000 / FACTOR;

/** A result of so many bytes; each is another. */
function pageOf(n: number): string {
  const line = `Page ${n}: the quick brown fox jumps over the lazy dog and reads on. `;
  return line.repeat(Math.ceil(RESULT_BYTES / line.length)).slice(0, RESULT_BYTES);
}

const SUMMARIZER = "You write the summary of a conversation";

test.each([
  { model: "claude-sonnet-4-5", perAnswer: 4, bindThinking: false },
  { model: "claude-sonnet-5", perAnswer: 4, bindThinking: true },
])("$model: a turn of very many long calls with thinking on is refused nowhere", async (setting) => {
  const { perAnswer, bindThinking } = setting;
  const options = { bindThinking, maxInputTokens: 200_000 / FACTOR };
  const scene = await stage({ api: "anthropic", streaming: true, name: setting.model, options });
  let asked = 0;
  scene.provider.answer(({ body }) => {
    if (JSON.stringify(body["system"] ?? body["messages"]).includes(SUMMARIZER)) {
      return { text: `So far ${asked} pages were read, and none said more than the others.` };
    }
    if (asked >= CALLS) return { thinking: "All read.", text: "Read." };
    const calls = Array.from({ length: perAnswer }, () => ({ name: "read", arguments: { page: asked++ } }));
    return { thinking: `Pages up to ${asked}.`, calls };
  });
  const read = defineTool({
    inputSchema: { type: "object", properties: { page: { type: "number" } } },
    repeatable: true,
    execute: async (input: unknown) => pageOf((input as { readonly page: number }).page),
  });
  const server = await scene.start({
    tools: { read },
    reasoning: "high",
    contextPolicy: { maxInputTokens: 180_000 / FACTOR, autoSummarize: true },
  });
  const { text, calls } = await (await server.ask("Read all pages.")).result;
  expect(text).toBe("Read.");
  expect(asked).toBe(CALLS);
  expect(calls).toHaveLength(CALLS / perAnswer + 1);
  expect(scene.provider.requests.flatMap(({ violation }) => violation ?? [])).toEqual([]);
  expect(calls.some(({ view }) => view.summarySeq !== undefined)).toBe(true);
  expect(calls.some(({ view }) => (view.startSeq ?? 0) > 1)).toBe(true);
  expect(scene.warnings).toEqual([]);
  const modes = scene.provider.requests.map(({ body }) => JSON.stringify(body["thinking"]));
  expect(modes.filter((mode) => mode?.includes("disabled"))).toEqual([]);
});
