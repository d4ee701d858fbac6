import { type AnyTool, memoryStore, ok, type ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { anything, eventsOf, proveAll, stage } from "../support/stage.ts";

const details = { raw: 18 };
const tools: { readonly [name: string]: AnyTool } = {
  probe: { inputSchema: anything, execute: () => ok("18 degrees", { details }) },
};
const calls = [{ name: "probe" }];

const stores: readonly (readonly [string, () => ThreadStore])[] = [
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(fastFile())],
];

describe.each(stores)("afterToolCall, with %s", (_, open) => {
  test("changes what the log and the model get, and never the details", async () => {
    const on = await stage({ store: open() });
    const model = scriptedModel([{ calls }, "Done."]);
    const seen: unknown[] = [];
    const server = await on.start({
      model,
      tools,
      afterToolCall: async ({ name }, result, { threadId }) => {
        seen.push([name, result, threadId]);
        return { content: [{ type: "text", text: "warm" }], isError: true, details: "mine" } as object;
      },
    });
    const request = await on.end(server.ask("Go."));
    await on.end(request.result);
    expect(seen).toEqual([["probe", { content: "18 degrees", isError: false, details }, on.threadId]]);
    await on.end(server.stop());
    const stored = (await on.log()).find(({ payload }) => payload["role"] === "tool");
    expect(stored?.payload).toMatchObject({ content: "warm", isError: true, details });
    const [shown] = model.requests[1]?.messages.at(-1)?.results ?? [];
    expect(shown).toMatchObject({ value: "warm", isError: true });
    const completed = (await eventsOf(request)).find(({ kind }) => kind === "tool_completed");
    expect(completed?.data).toEqual({ content: "warm", isError: true, details });
    expect(await proveAll(on.store, on.threadId)).toBe(2);
  });

  const failing: readonly (readonly [string, () => unknown])[] = [
    ["throws", () => Promise.reject(new Error("no"))],
    ["never answers", () => new Promise(() => undefined)],
    ["returns a text", () => "warm"],
    ["returns no content", () => ({ content: 7 })],
    ["returns another field", () => ({ contents: "warm" })],
    ["returns nothing to change", () => ({})],
    ["returns null", () => null],
  ];
  test.each(failing)("that %s withholds the result, keeps the details, and is reported", async (_, after) => {
    const on = await stage({ store: open() });
    const codes: string[] = [];
    const server = await on.start(
      { script: [{ calls }, "Done."], tools, afterToolCall: after as never, hookTimeoutMs: 50 },
      { onError: (_error, { code, toolName }) => void codes.push(`${code} ${toolName}`) },
    );
    expect((await on.end((await on.end(server.ask("Go."))).result)).text).toBe("Done.");
    const stored = (await on.log()).find(({ payload }) => payload["role"] === "tool");
    expect(stored?.payload).toMatchObject({
      content: expect.stringContaining("result_withheld"),
      isError: true,
      details,
    });
    expect(JSON.stringify(await on.log())).not.toContain("18 degrees");
    expect(codes).toEqual(["after_tool_call_failed probe"]);
  });

  test("a result without details that is withheld has its content as details", async () => {
    const on = await stage({ store: open() });
    const probe = { inputSchema: anything, execute: () => "18 degrees" };
    const afterToolCall = () => Promise.reject(new Error("away"));
    const server = await on.start({ script: [{ calls }, "Done."], tools: { probe }, afterToolCall });
    await on.end((await on.end(server.ask("Go."))).result);
    const stored = (await on.log()).find(({ payload }) => payload["role"] === "tool");
    expect(stored?.payload).toMatchObject({
      content: expect.stringContaining("result_withheld"),
      details: "18 degrees",
    });
    expect(stored?.payload["content"]).not.toContain("18");
  });

  test("a cancel while it waits withholds the result", async () => {
    const on = await stage({ store: open() });
    const afterToolCall = (): Promise<undefined> => new Promise(() => undefined);
    const server = await on.start({ script: [{ calls }], tools, afterToolCall });
    const request = await on.end(server.ask("Go."));
    await on.settled();
    await on.end(server.cancel());
    await on.end(request.result.catch(() => undefined));
    const stored = (await on.log()).find(({ payload }) => payload["role"] === "tool");
    expect(stored?.payload).toMatchObject({
      content: expect.stringContaining("result_withheld"),
      isError: true,
      details,
    });
    expect(JSON.stringify(await on.log())).not.toContain("18 degrees");
  });
});
