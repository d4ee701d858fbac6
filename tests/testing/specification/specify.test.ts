import { defineAgent } from "heddle";
import {
  askSignal,
  modelCallsSignal,
  modelTextSignal,
  numberedPorts,
  SpecificationFailure,
  scriptedModel,
  specify,
} from "heddle/testing";
import { describe, expect, test } from "vitest";
import { defineAction, direct } from "../../../src/agent/direct/agent.ts";
import { reactAgent } from "../../../src/agent/react/agent.ts";
import { reactSettings } from "../../../src/agent/react/settings.ts";

const agent = specify({ systemPrompt: "You are a calculator." });
const ask = askSignal("What's 2+2?");

describe("a specification that does not hold says where", () => {
  test("an entry differs", () => {
    const said = messageOf(() => agent.when(ask).then([{ payload: { role: "assistant" } }]));
    expect(said).toContain('entries[0].payload.role: expected "assistant", got "user"');
  });

  test("an entry is missing, or there is one too many", () => {
    expect(messageOf(() => agent.when(ask).then([{}, {}]))).toContain("entries[1]: expected {}, got undefined");
    expect(messageOf(() => agent.when(ask).then([]))).toContain("entries[0]: expected nothing, got {");
  });

  test("a directive is missing, in wrong order, or differs", () => {
    const when = agent.when(ask);
    expect(messageOf(() => when.then([{}], [{ type: "stop" }]))).toContain("Given were: emit, emit, llm_stream.");
    expect(messageOf(() => when.then([{}], [{ type: "llm_stream" }, { type: "emit" }]))).toContain(
      "after directives[2]",
    );
    const differs = messageOf(() => when.then([{}], [{ type: "llm_stream", iteration: 2 }]));
    expect(differs).toContain("directives[2].iteration: expected 2, got 1");
    expect(messageOf(() => when.then([{}], []))).toContain("directives[0]: expected nothing");
  });

  test("it was accepted, refused for another reason, or refused and changed all the same", () => {
    expect(messageOf(() => agent.when(ask).thenRejects("busy"))).toContain("it was accepted");
    expect(messageOf(() => agent.given([ask]).when(ask).thenRejects("empty_ask"))).toContain("got busy");
  });

  test("both sides are there for a diff, cut to the compared fields", () => {
    const failure = failureOf(() => agent.when(ask).then([{ kind: "note" }]));
    expect(failure.expected).toEqual([{ kind: "note" }]);
    expect(failure.actual).toEqual([{ kind: "ai_message" }]);
  });
});

test("an error is thrown when the result is read", () => {
  const operation = { opId: "", contextRef: "default", operation: { type: "switch", reason: "manual" } } as const;
  const outcome = agent.when({ type: "context_op", operation });
  outcome.thenRejects("context_op_invalid");
  expect(() => outcome.then([])).toThrow("opId");
});

test("awaiting one is reported as a mistake", async () => {
  const outcome: unknown = agent.when(ask); // the compiler refuses it too, when it knows the type
  await expect(Promise.resolve(outcome)).rejects.toThrow("Do not await a specification");
});

test("matchers of the runner stand for what cannot be written down", () => {
  agent.when(ask).then([{ payload: { content: expect.stringMatching(/2\+2/) } }]);
  expect(messageOf(() => agent.when(ask).then([{ payload: { content: expect.stringMatching(/3/) } }]))).toContain(
    "entries[0].payload.content",
  );
});

test("each specification starts over, with the same ids and times", () => {
  const [first, second] = [agent.given([ask]), agent.given([ask])].map(
    (given) => given.when(modelTextSignal("call_1", "4")).agent,
  );
  expect(JSON.stringify(first?.thread)).toBe(JSON.stringify(second?.thread));
  expect(first?.thread.id).toBe("thread_1");
  agent.when(ask).then([{ id: "entry_1", at: 1, refs: { requestId: "req_1", runId: "run_1" } }]);
});

test("an agent, settings and a Direct agent can be specified", () => {
  const whole = reactAgent(reactSettings({ maxIterations: 1 }), numberedPorts());
  const setting = { type: "system_prompt", value: "Be brief." } as const;
  specify(whole)
    .given([{ kind: "ai_setting", payload: { opId: "1", setting } }])
    .when(ask)
    .then([{}], [{ type: "llm_stream", messages: [{ content: "Be brief." }, {}] }]);
  specify(whole)
    .when({ type: "set", setting: { opId: "1", setting } })
    .then([{ id: "set_1", kind: "ai_setting", payload: { opId: "1", setting } }]);
  const add = defineAction({ name: "add", inputSchema: { type: "object" }, run: () => 4 });
  specify(direct({ actions: [add] }))
    .when({ type: "instruction", action: "add" })
    .then([], [{ type: "run_action" }]);
});

function failureOf(run: () => unknown): SpecificationFailure {
  try {
    run();
  } catch (error) {
    if (error instanceof SpecificationFailure) return error;
    throw error;
  }
  return expect.fail("the specification holds");
}

function messageOf(run: () => unknown): string {
  return failureOf(run).message;
}

describe("an agent that was defined", () => {
  const model = scriptedModel([]);
  const pay = { inputSchema: { type: "object" }, needsApproval: true, execute: () => "paid" } as const;

  test("is specified by the settings that a server would run it with", async () => {
    const defined = defineAgent({
      model,
      tools: { pay },
      maxIterations: 1,
      toolMaxRetries: 2,
      systemPrompt: "Be brief.",
    });
    const outcome = (await specify(defined)).when(ask);
    outcome.then(
      [{ kind: "ai_message" }],
      [{ type: "llm_stream", toolSpec: [{ name: "pay" }], messages: [{ role: "system", content: "Be brief." }, {}] }],
    );
    (await specify(defined))
      .given([ask])
      .when(modelCallsSignal("call_1", [{ id: "p", name: "pay", arguments: {} }]))
      .then([{ kind: "ai_message" }], [{ type: "tool_exec", call: { name: "pay" }, approved: false }]);
  });

  test("whose prompt is a function gets its text with the ask", async () => {
    const defined = defineAgent({ model, systemPrompt: ({ user }: { user: string }) => `For ${user}.` });
    (await specify(defined))
      .when(askSignal("Hi", { systemPrompt: "For Ann." }))
      .then([{}], [{ type: "llm_stream", messages: [{ role: "system", content: "For Ann." }, {}] }]);
  });
});
