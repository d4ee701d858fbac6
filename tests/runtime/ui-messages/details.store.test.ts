import { type AnyTool, content, memoryStore, ok, project, type ThreadStore } from "heddle";
import { toUIMessages, uiMessageStream } from "heddle/ai-sdk";
import { sqliteStore } from "heddle/sqlite";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { anything, proveAll, stage } from "../support/stage.ts";

const rows = Array.from({ length: 500 }, (_, id) => ({ id, name: `Row ${id}` }));
const tools: { readonly [name: string]: AnyTool } = {
  raw: {
    inputSchema: anything,
    execute: () => ({ rows }),
    toModelOutput: ({ output }: { readonly output: { readonly rows: readonly unknown[] } }) => {
      return { type: "text", value: `${output.rows.length} rows` };
    },
  },
  marked: { inputSchema: anything, execute: () => ok(7, { details: { shown: "to people" } }) },
  plain: { inputSchema: anything, execute: () => content([{ type: "text", text: "as it is" }]) },
};
const script = [{ calls: [{ name: "raw" }, { name: "marked" }, { name: "plain" }] }, "Done."];
const outputs = [{ rows }, { shown: "to people" }, "as it is"];

const stores: readonly (readonly [string, () => ThreadStore])[] = [
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(fastFile())],
];

describe.each(stores)("the raw value of a tool, with %s", (_, open) => {
  test("is the output in the stream and in the messages, also after a restart", async () => {
    const on = await stage({ store: open() });
    const server = await on.start({ script, tools });
    const request = await on.end(server.ask("Go."));
    const streamed: unknown[] = [];
    for await (const chunk of uiMessageStream(request)) {
      if (chunk.type === "tool-output-available") streamed.push(chunk.output);
    }
    expect(streamed).toEqual(outputs);
    await on.end(server.stop());
    const thread = await on.store.load(on.threadId);
    if (thread === undefined) throw new Error("The thread is gone.");
    const shown = toUIMessages(thread).flatMap(({ parts }) => {
      return parts.flatMap((part) => ("output" in part ? [part.output] : []));
    });
    expect(shown).toEqual(outputs);
    expect(await proveAll(on.store, on.threadId)).toBe(2);
    expect(await on.store.verify(on.threadId)).toMatchObject({ ok: true });
  });

  test("does not count as tokens of its thread, and no model is shown it", async () => {
    const on = await stage({ store: open() });
    const server = await on.start({ script, tools });
    await on.end((await on.end(server.ask("Go."))).result);
    const thread = await server.thread();
    const entries = thread.toArray().map(({ payload: { details: _, ...payload }, seq: _seq, ...entry }) => {
      return { ...entry, payload };
    });
    await on.store.append("thread_without", entries);
    const without = await on.store.load("thread_without");
    if (without === undefined) throw new Error("The thread is gone.");
    const policy = { maxThreadTokens: 1_000 };
    const [one, two] = [project({ thread, policy }), project({ thread: without, policy })];
    expect(JSON.stringify(one.messages)).toBe(JSON.stringify(two.messages));
    expect(JSON.stringify(one.messages)).not.toContain("Row 1");
    expect(one.meta.needsSummary).toBe(false);
  });
});
