import type { Entry } from "heddle";
import { apiError } from "../../../src/scripted-model/answer.ts";
import { THREAD_ID } from "../../../src/testing/simulation/simulation-state.ts";
import { BRANCH_STORIES } from "./branch-stories.ts";
import { CUT_STORIES } from "./cut-stories.ts";
import { DECISION_STORIES } from "./decision-stories.ts";
import { INBOX_STORIES } from "./inbox-stories.ts";
import { ruleModel } from "./rule-model.ts";
import type { Stage, Story } from "./stage.ts";
import { begun, calling, DONE, spoken, TOO_LONG } from "./story-parts.ts";
import { SUMMARY_STORIES } from "./summary-stories.ts";
import { TIME_STORIES } from "./time-stories.ts";
import { TOOL_STORIES } from "./tool-stories.ts";

const EMPTY = { id: "ctx", entries: [] };

function replace(opId: string) {
  return { opId, operation: { type: "replace", reason: "manual", resultContext: EMPTY } } as const;
}

/** From the moment that it is acknowledged, a setting is in the log. */
async function set(stage: Stage, opId: string, make: (server: Stage["server"]) => Promise<unknown>): Promise<void> {
  await make(stage.server);
  const isThere = ({ payload }: { readonly payload: { readonly opId?: string } }) => payload.opId === opId;
  stage.world.acknowledged.add(`the setting ${opId}`, ({ thread }) => thread.filterByKind("ai_setting").some(isThere));
}

/** Once it is accepted, the call of `send` is skipped, whatever process does it. */
async function skip(stage: Stage): Promise<void> {
  const { accepted } = await stage.server.steer("Stop that.", { id: "stop", skip: true });
  if (!accepted) throw new Error("the steer came too late");
  stage.mustEnd("stop");
  stage.world.acknowledged.add("the skipped call", ({ thread, state }) => {
    const isSkipped = ({ payload }: Entry) => "toolCallId" in payload && JSON.stringify(payload).includes("skipped");
    return state.run !== undefined || thread.filterByKind("ai_message").some(isSkipped);
  });
}

const SINGLE: readonly Story[] = [
  {
    name: "a final answer",
    rules: DONE,
    play: async (stage) => {
      await begun(stage);
      await stage.ended();
      await stage.server.stop();
    },
  },
  {
    name: "tools in parallel",
    rules: calling(["look", 1], ["pay", 2], ["teleport", 3], ["broken", 5]),
    play: async (stage) => {
      await begun(stage);
      await stage.ended();
    },
  },
  {
    name: "settings before a request and while it runs",
    rules: calling(["slow", 1]),
    play: async (stage) => {
      await stage.start();
      await set(stage, "before", (server) => server.setSystemPrompt("Be brief.", { opId: "before" }));
      await stage.ask("Do it.");
      await set(stage, "during", (server) => server.setSystemPrompt("Be long.", { opId: "during" }));
      await set(stage, "removed", (server) => server.unregisterTool("broken", { opId: "removed" }));
      await stage.ended();
    },
  },
  {
    name: "a model that is set by its name",
    rules: () => ({ error: apiError({ status: 401, message: "invalid key" }) }),
    config: { models: { works: { ...ruleModel(calling(["look", 1])), modelId: "two" } } },
    play: async (stage) => {
      await stage.start();
      await set(stage, "model", (server) => server.setModel("works", { opId: "model" }));
      await stage.ask("Do it.");
      await stage.ended();
    },
  },
  {
    name: "a mode whose rules decide a call, and leave another one to a person",
    rules: calling(["send", 1], ["send", 2]),
    config: { modes: { build: { rules: [{ tool: "send", verdict: "allow", pattern: { serial: "1" } }] } } },
    play: async (stage) => {
      await stage.start();
      await set(stage, "mode", (server) => server.setMode("build", { opId: "mode" }));
      await stage.ask("Do it.");
      await stage.waiting();
      await stage.server.approve("call_1");
      await stage.ended();
    },
  },
  {
    name: "a request that `prepareCall` has prepared",
    rules: (prompt) => (prompt.includes("Prepared.") ? calling(["look", 1])(prompt) : { error: TOO_LONG }),
    config: { prepareCall: ({ instructions = "" }) => ({ instructions: `${instructions} Prepared.`, temperature: 0 }) },
    play: async (stage) => {
      await begun(stage);
      await stage.ended();
    },
  },
  {
    name: "a mode with models by name, of which the first is refused",
    rules: () => ({ error: apiError({ status: 401, message: "invalid key" }) }),
    config: {
      modes: { plan: { systemPrompt: "Plan only.", model: ["broken", "works"] } },
      models: {
        broken: ruleModel(() => ({ error: apiError({ status: 404, message: "no such model" }) })),
        works: { ...ruleModel(calling(["look", 1])), modelId: "two" },
      },
    },
    play: async (stage) => {
      await stage.start();
      await set(stage, "mode", (server) => server.setMode("plan", { opId: "mode" }));
      await stage.ask("Do it.");
      await stage.ended();
    },
  },
  {
    name: "a steer that skips calls while one runs",
    rules: calling(["slow", 1], ["send", 2], ["look", 3]),
    config: { toolConcurrency: 1 },
    play: async (stage) => {
      await begun(stage);
      await stage.until(() => stage.world.log.state.run?.calls.length === 3);
      await skip(stage);
      await stage.ended();
    },
  },
  {
    name: "a steer that skips the calls of an answer on its way",
    modelThinks: true,
    rules: calling(["look", 1], ["send", 2]),
    play: async (stage) => {
      await begun(stage);
      await skip(stage);
      await stage.ended();
    },
  },
  {
    name: "a steer that skips a call that waits",
    rules: calling(["send", 1]),
    play: async (stage) => {
      await begun(stage);
      await stage.waiting();
      await skip(stage);
      await stage.ended();
    },
  },
  {
    name: "a steer that skips the last call, and an operation waits for it",
    rules: calling(["send", 1]),
    config: { maxIterations: 1 },
    operationBehindAsk: 1,
    play: async (stage) => {
      await begun(stage);
      await stage.waiting();
      await skip(stage);
      await stage.ended();
    },
  },
  {
    name: "only tools that are not there",
    rules: calling(["teleport", 1]),
    play: async (stage) => {
      await begun(stage);
      await stage.ended();
    },
  },
  {
    name: "a node that renews its lease",
    rules: calling(["slow", 1]),
    play: async (stage) => {
      await begun(stage);
      await stage.ended();
      await stage.until(
        () => stage.world.processes[0]?.store.writes.some(({ method }) => method === "renewLease") === true,
      );
    },
  },
  {
    name: "words for the next call and words for the end",
    rules: (prompt) =>
      prompt.includes("And then?") || prompt.includes('"role":"tool"') ? "Done." : { calls: [["slow", 1]] },
    play: async (stage) => {
      await begun(stage);
      await stage.until(() => stage.world.toolRuns.count > 0);
      await stage.steer("Be quick.");
      await stage.steer("And then?", "followUp");
      await stage.ended();
    },
  },
  {
    name: "words before a call that is too long",
    modelThinks: true,
    rules: (prompt) => (prompt.includes("Be quick.") ? "Done." : { error: TOO_LONG }),
    play: async (stage) => {
      await stage.start();
      const asked = stage.ask("Do it.");
      await asked;
      await stage.steer("Be quick.");
      await stage.ended();
    },
    ends: ["completed", "failed"],
  },
  {
    name: "the last iteration",
    rules: () => ({ calls: [["look", 1]] }),
    config: { maxIterations: 1 },
    play: async (stage) => {
      await begun(stage);
      await stage.ended();
    },
  },
  {
    name: "the last iteration, with only tools that are not there",
    rules: () => ({ calls: [["teleport", 1]] }),
    config: { maxIterations: 1 },
    play: async (stage) => {
      await begun(stage);
      await stage.ended();
    },
  },
  {
    name: "cancelled while a tool runs",
    rules: calling(["slow", 1], ["send", 2]),
    play: async (stage) => {
      await begun(stage);
      await stage.until(() => stage.world.toolRuns.count > 0);
      await stage.server.cancel();
    },
    ends: ["cancelled", "completed"],
  },
  {
    name: "cancelled while it waits",
    rules: calling(["send", 1]),
    play: async (stage) => {
      await begun(stage);
      await stage.waiting();
      await stage.server.cancel();
    },
    ends: ["cancelled", "completed"],
  },
  {
    name: "cancelled while the model speaks",
    rules: () => ({ silence: "Well" }),
    config: { streamIdleTimeoutMs: 9_000 },
    play: async (stage) => {
      await begun(stage);
      await stage.server.cancel();
    },
    ends: ["cancelled", "failed"],
  },
  {
    name: "cancelled while the model speaks, and continued",
    rules: (prompt) => (prompt.includes("interrupted here") ? "Done." : { silence: "Well" }),
    config: { streamIdleTimeoutMs: 9_000 },
    play: async (stage) => {
      await begun(stage);
      const { request } = stage.server;
      const cancelled = request?.id ?? "";
      await spoken(stage);
      await stage.server.cancel();
      const { id } = await stage.server.continueRequest(cancelled);
      stage.world.acknowledged.add("the continued request", ({ thread }) => {
        return thread.filterByRef("requestId", id).length > 0;
      });
      await stage.ended();
    },
    ends: ["cancelled", "failed", "completed"],
  },
  {
    name: "too slow",
    rules: calling(["slow", 1], ["send", 2]),
    config: { totalTimeoutMs: 50 },
    play: async (stage) => {
      await begun(stage);
      await stage.ended();
    },
    ends: ["failed", "completed"],
  },
  {
    name: "an operation for the end of the run, and another one after it",
    rules: calling(["slow", 1]),
    play: async (stage) => {
      await begun(stage);
      await stage.until(() => stage.world.toolRuns.count > 0);
      await stage.server.modifyContext(replace("first"));
      const { settled } = await stage.server.modifyContext(replace("second"));
      await settled;
      await stage.server.modifyContext({
        opId: "third",
        contextRef: "side",
        operation: { type: "switch", reason: "manual" },
      });
    },
  },
  {
    name: "an answer of the wrong shape",
    rules: (prompt) => (prompt.includes("does not have the shape") ? '{"n":4}' : "four"),
    config: {
      output: {
        jsonSchema: { type: "object" },
        validate: (value: unknown) =>
          typeof Object(value).n === "number"
            ? { success: true, value }
            : { success: false, error: new Error("n is missing") },
      },
    },
    play: async (stage) => {
      await begun(stage);
      await stage.ended();
    },
  },
  {
    name: "a model that refuses",
    rules: () => ({ error: apiError({ status: 401, message: "invalid key" }) }),
    play: async (stage) => {
      await begun(stage);
      await stage.ended();
    },
    ends: ["failed"],
  },
  {
    name: "a stream that ends too early",
    rules: () => ({ cut: "Well" }),
    config: { modelMaxRetries: 1 },
    play: async (stage) => {
      await begun(stage);
      await stage.ended();
    },
    ends: ["failed"],
  },
  {
    name: "a stream that breaks",
    rules: () => ({ error: new Error("socket hang up"), after: "Well" }),
    play: async (stage) => {
      await begun(stage);
      await stage.ended();
    },
    ends: ["failed"],
  },
  {
    name: "a request that is changed on its way",
    rules: DONE,
    config: { transformRequest: () => ({ settings: { temperature: 1 } }) },
    play: async (stage) => {
      await begun(stage);
      await stage.ended();
    },
  },
  {
    name: "left behind, and closed by who comes next",
    rules: calling(["slow", 1]),
    play: async (stage) => {
      await begun(stage);
      await stage.until(() => stage.world.toolRuns.count > 0);
      stage.die();
      await stage.start("fail");
    },
    ends: ["failed", "completed"],
  },
  {
    name: "left behind, and resumed by who comes next",
    rules: calling(["slow", 1]),
    play: async (stage) => {
      await begun(stage);
      await stage.until(() => stage.world.toolRuns.count > 0);
      stage.die();
      await stage.start();
      await stage.ended();
    },
  },
  {
    name: "left behind with words, and resumed by who comes next",
    rules: calling(["slow", 1]),
    play: async (stage) => {
      await begun(stage);
      await stage.until(() => stage.world.toolRuns.count > 0);
      await stage.steer("Be quick.");
      await stage.steer("And then?", "followUp");
      stage.die();
      await stage.start();
      await stage.ended();
    },
  },
  {
    name: "stopped while an operation waits that version 0.1 deferred",
    rules: calling(["slow", 1]),
    play: async (stage) => {
      await begun(stage);
      await stage.until(() => stage.world.toolRuns.count > 0);
      await stage.server.stop({ graceMs: 0 });
      const operation = { contextRef: "default", ...replace("earlier") };
      await stage.world.store.putCheckpoint(`context_op:${THREAD_ID}`, operation);
      await stage.start();
      stage.mustEnd("earlier");
      await stage.ended();
    },
  },
  {
    name: "stopped while a tool runs",
    rules: calling(["slow", 1]),
    play: async (stage) => {
      await begun(stage);
      await stage.until(() => stage.world.toolRuns.count > 0);
      await stage.server.stop({ graceMs: 0 });
      await stage.start();
      await stage.ended();
    },
  },
  {
    name: "stopped while it is cancelled",
    rules: calling(["slow", 1]),
    play: async (stage) => {
      await begun(stage);
      await stage.until(() => stage.world.toolRuns.count > 0);
      const cancelled = stage.server.cancel();
      await stage.server.stop({ graceMs: 0 });
      await cancelled;
    },
    ends: ["cancelled", "completed"],
  },
  {
    name: "finished while it waits",
    rules: calling(["send", 1], ["ask_user", 2]),
    play: async (stage) => {
      await begun(stage);
      await stage.waiting();
      await stage.server.finish();
    },
  },
  {
    name: "stopped by its own word",
    rules: () => ({ calls: [["look", 1]] }),
    config: { stopWhen: ({ iteration }) => iteration === 2, onRequestEnd: () => undefined },
    play: async (stage) => {
      await begun(stage);
      await stage.ended();
    },
  },
  {
    name: "steered before its exchange is checked",
    rules: calling(["slow", 1]),
    config: { stopWhen: async () => false },
    play: async (stage) => {
      await begun(stage);
      await stage.until(() => stage.world.toolRuns.count > 0);
      await stage.steer("Be quick.");
      await stage.ended();
    },
  },
  ...DECISION_STORIES,
  ...CUT_STORIES,
  ...INBOX_STORIES,
  ...SUMMARY_STORIES,
  ...TIME_STORIES,
  ...TOOL_STORIES,
  ...BRANCH_STORIES,
];

/** Each of these ends its request by another signal; behind which ask the operation comes that waits for it. */
const WITH_AN_OPERATION: Readonly<Record<string, number>> = {
  "a final answer": 1,
  "a model that refuses": 1,
  "the last iteration": 1,
  "denied at the last iteration": 1,
  "denied elsewhere at the last iteration": 1,
  "answered by the user at the last iteration": 1,
  "cancelled while it waits": 1,
  "stopped while it is cancelled": 1,
  "cancelled while somebody decides who has to approve": 1,
  "cancelled before the user is asked": 1,
  "cancelled while a summary is written": 2,
  "nothing fits any more when the summary is there": 2,
  "left behind, and closed by who comes next": 1,
  "finished while it waits": 1,
  "finished while a tool thinks of a question": 1,
  "not decided before its deadline": 1,
  "cancelled while a tool falls asleep": 1,
  "stopped by its own word": 1,
};

export const STORIES: readonly Story[] = [
  ...SINGLE,
  ...Object.entries(WITH_AN_OPERATION).map(([name, operationBehindAsk]) => {
    const story = SINGLE.find((one) => one.name === name);
    if (story === undefined) throw new Error(`no story is called ${name}`);
    return { ...story, name: `${name}, and an operation waits for it`, operationBehindAsk };
  }),
];
