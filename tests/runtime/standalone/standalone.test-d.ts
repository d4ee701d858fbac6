import {
  type AgentEvent,
  AgentHost,
  defineAgent,
  defineTool,
  jsonSchema,
  memoryStore,
  type RequestResult,
  type RunHandle,
  type RunResult,
  react,
  type ToolOptions,
} from "heddle";
import { scriptedModel } from "heddle/testing";
import { expectTypeOf, test } from "vitest";

const model = scriptedModel([]);
const lookUp = defineTool({
  inputSchema: jsonSchema<{ id: string }>({ type: "object" }),
  execute: ({ id }, { context }: ToolOptions<{ user: string }>) => `${context.user} ${id}`,
});
const output = jsonSchema<{ sum: number }>({ type: "object" });
const agent = defineAgent({ model, tools: { lookUp }, output });
const host = AgentHost.create({ agent, store: memoryStore() });
const context = { user: "Ada" };

test("the object of a result is of the agent's output, of a config as of an agent", () => {
  expectTypeOf(react.run("", { model, output })).resolves.toEqualTypeOf<RunResult<{ sum: number }>>();
  expectTypeOf(react.run("", agent, { context })).resolves.toEqualTypeOf<RunResult<{ sum: number }>>();
  expectTypeOf(react.run("", { model })).resolves.toEqualTypeOf<RunResult<undefined>>();
  expectTypeOf(react.collect("rt2.x", agent)).resolves.toEqualTypeOf<RunResult<{ sum: number }>>();
  expectTypeOf(react.collect("rt2.x", { model, output })).resolves.toEqualTypeOf<RunResult<{ sum: number }>>();
});

test("only a final answer has an object", async () => {
  const results = [
    await react.run("", { model, output }),
    await react.collect("rt2.x", agent),
    await react.collect(react.stream("", { model }), agent),
    await (await host.ask("thread_1", "", { context })).result,
  ] as const;
  for (const result of results) {
    expectTypeOf(result.object).toEqualTypeOf<{ sum: number } | undefined>();
    if (result.terminationReason === "final_answer") expectTypeOf(result.object).toEqualTypeOf<{ sum: number }>();
    else expectTypeOf(result.object).toEqualTypeOf<undefined>();
  }
  const { terminationReason, object } = results[0];
  if (terminationReason === "final_answer") expectTypeOf(object.sum).toEqualTypeOf<number>();
});

test("a token gives the thread too, events do not", () => {
  const events = react.stream("", { model });
  expectTypeOf(events).toExtend<AsyncIterable<AgentEvent>>();
  expectTypeOf(react.collect(events, agent)).resolves.toEqualTypeOf<RequestResult<{ sum: number }>>();
});

test("the context is what the tools need", () => {
  void react.start("", agent, { context });
  // @ts-expect-error a user is text
  void react.start("", agent, { context: { user: 1 } });
  // @ts-expect-error the same when the run goes on
  void react.continue("rt2.x", agent, { context: { user: 1 } });
  // @ts-expect-error and on a host
  void host.ask("thread_1", "", { context: { user: 1 } });
  expectTypeOf(react.continue("rt2.x", agent)).resolves.toEqualTypeOf<RunHandle<typeof agent>>();
});

test("who cancels gives revocations that can revoke, who continues only needs to ask", () => {
  const isRevoked = async () => false;
  void react.continue("rt2.x", agent, { revocations: { isRevoked } });
  // @ts-expect-error cancelling has to tell it
  void react.cancel("rt2.x", agent, { revocations: { isRevoked } });
  // @ts-expect-error only a call that waits is decided on: there is none to decide on here
  void react.cancel("rt2.x", agent, { approve: ["call_1"] });
});
