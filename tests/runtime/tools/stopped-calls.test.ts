import { AgentServer, defineAgent, defineTool, jsonSchema, memoryStore, ToolError } from "heddle";
import { scriptedModel } from "heddle/testing";
import { expect, onTestFinished, test } from "vitest";
import { runTool } from "../../../src/runtime/tools/run-tool.ts";

const CALL = { id: "call_1", name: "look", arguments: {} };
const UNKNOWN = "The call of look was interrupted; its outcome is unknown.";
const NOT_STARTED = "The call of look was cancelled before it started.";

test.each([
  [false, NOT_STARTED],
  [true, UNKNOWN],
])(
  "of a call that is stopped before it runs nothing is known where it may have begun before: %s",
  async (again, message) => {
    const look = defineTool({ inputSchema: jsonSchema({ type: "object" }), execute: () => "seen" });
    const { failure } = await runTool(CALL, {
      tools: { look },
      context: undefined,
      signal: AbortSignal.abort(),
      again,
    });
    expect(failure).toMatchObject({ code: "tool_aborted", message });
  },
);

test("of a call that is stopped before its second attempt nothing is known", async () => {
  const controller = new AbortController();
  let checks = 0;
  const validate = (value: unknown) => {
    if (++checks === 1) return { success: true as const, value };
    controller.abort();
    return new Promise<never>(() => undefined);
  };
  const look = defineTool({
    inputSchema: jsonSchema({ type: "object" }, { validate }),
    execute: () => {
      throw new ToolError({ code: "busy", message: "Busy.", retryable: true });
    },
  });
  const options = { tools: { look }, context: undefined, signal: controller.signal, maxRetries: 1, backoffMs: 0 };
  expect((await runTool(CALL, options)).failure).toMatchObject({ code: "tool_aborted", message: UNKNOWN });
});

test("a call that another process has begun, and that is cancelled before it runs again, has an unknown outcome", async () => {
  const store = memoryStore();
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const look = defineTool({
    inputSchema: jsonSchema({ type: "object" }),
    repeatable: true,
    execute: (_, { abortSignal }) => {
      begin();
      return new Promise((_resolve, reject) => abortSignal.addEventListener("abort", () => reject(abortSignal.reason)));
    },
  });
  const model = scriptedModel([{ calls: [{ name: "look" }] }]);
  const first = await AgentServer.start({ agent: defineAgent({ model, tools: { look } }), store, threadId: "t" });
  const request = await first.ask("Look.");
  request.result.catch(() => undefined);
  await begun;
  await first.stop({ graceMs: 0 });

  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  const { promise: verdict, resolve: allow } = Promise.withResolvers<"allow">();
  const guardTools = () => {
    ask();
    return verdict;
  };
  const agent = defineAgent({ model, tools: { look }, guardTools });
  const second = await AgentServer.start({ agent, store, threadId: "t" });
  onTestFinished(() => second.stop());
  second.request?.result.catch(() => undefined);
  await asked;
  const cancelled = second.cancel();
  allow("allow");
  expect(await cancelled).toBe(true);
  const results = (await second.thread()).toArray().filter(({ payload }) => payload["role"] === "tool");
  expect(results.map(({ payload }) => payload["content"])).toEqual([expect.stringContaining(UNKNOWN)]);
});
