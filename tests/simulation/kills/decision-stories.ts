import type { Entry } from "heddle";
import { THREAD_ID } from "../../../src/testing/simulation/simulation-state.ts";
import type { Stage, Story } from "./stage.ts";
import { asksForSeat, begun, calling, later } from "./story-parts.ts";

/** A call waits, the process leaves, somebody decides, and another process takes it up. */
function decidedMeanwhile(approved: boolean) {
  return async (stage: Stage): Promise<void> => {
    await begun(stage);
    await stage.waiting();
    await stage.server.stop({ graceMs: 0 });
    await stage.world.process().decide(THREAD_ID, { toolCallId: "call_0", approved, by: "ann" });
    await stage.start();
    await stage.ended();
  };
}

/** Approvals, denials, answers and questions, and their deadlines. */
export const DECISION_STORIES: readonly Story[] = [
  {
    name: "an approval that is remembered, and settles others, also later",
    rules: (prompt) => {
      const results = prompt.split('"role":"tool"').length - 1;
      if (results === 0)
        return {
          calls: [
            ["send", 1],
            ["send", 2],
            ["look", 3],
            ["send", 4],
          ],
        };
      return results === 4 ? { calls: [["send", 5]] } : "Done.";
    },
    play: async (stage) => {
      await begun(stage);
      await stage.waiting();
      await stage.server.approve("call_0", { by: "ann", remember: { scope: "thread" } });
      stage.world.acknowledged.add("the rule, with all that it decides", ({ thread }) => {
        const decided = thread.filterByKind("approval_resolved").length;
        return thread.filterByKind("ai_setting").length === 1 && decided >= 3;
      });
      await stage.ended();
    },
  },
  {
    name: "a rule that is revoked, so that a person is asked again",
    rules: (prompt) => (prompt.includes("Again.") ? "Done." : calling(["send", 1])(prompt)),
    play: async (stage) => {
      await begun(stage);
      await stage.waiting();
      await stage.server.approve("call_0", { remember: { scope: "thread" } });
      await stage.ended();
      const [rule] = await stage.server.rules();
      if (!(await stage.server.revokeRule(rule?.id ?? ""))) throw new Error("there is no rule");
      stage.world.acknowledged.add("the end of the rule", ({ thread }) => thread.filterByKind("ai_setting").length > 1);
      await stage.ask("Again.");
      await stage.ended();
    },
  },
  {
    name: "a denial that is remembered, while words wait",
    modelThinks: true,
    rules: (prompt) => {
      const results = prompt.split('"role":"tool"').length - 1;
      return results < 2 ? { calls: [["send", results + 1]] } : "Done.";
    },
    play: async (stage) => {
      await begun(stage);
      await stage.waiting();
      await stage.server.deny("call_0", { reason: "no", remember: {} });
      await stage.steer("Be quick.");
      await stage.ended();
    },
  },
  {
    name: "approvals that come too late while words wait",
    rules: calling(["send", 1], ["send", 2]),
    config: { approval: { timeoutMs: 2_000 } },
    play: async (stage) => {
      await begun(stage);
      await stage.waiting();
      await stage.steer("Be quick.");
      await stage.ended();
    },
  },
  {
    name: "an approval that comes too late and fails the request, with an operation that waits",
    rules: calling(["send", 1], ["slow", 2]),
    config: { approval: { timeoutMs: 2_000, onTimeout: "fail" } },
    operationBehindAsk: 1,
    play: async (stage) => {
      await begun(stage);
      await stage.ended();
    },
    ends: ["failed", "completed"],
  },
  {
    name: "an approval that edits the arguments",
    rules: calling(["send", 1]),
    play: async (stage) => {
      await begun(stage);
      await stage.waiting();
      await stage.server.approve("call_0", { by: "ann", arguments: { serial: 1 } });
      const isEdited = ({ payload }: Entry) => "editedArguments" in payload;
      stage.world.acknowledged.add("the edit", ({ thread }) => thread.filterByKind("approval_resolved").some(isEdited));
      await stage.ended();
      const results = stage.world.log.thread.filterByRef("toolCallId", "call_0").filter(isEdited);
      if (results.length !== 2) throw new Error("the result does not say what the call ran with");
    },
  },
  {
    name: "approved",
    rules: calling(["send", 1]),
    play: async (stage) => {
      await begun(stage);
      await stage.waiting();
      await stage.server.approve("call_0");
      await stage.ended();
    },
  },
  {
    name: "denied while words wait",
    rules: calling(["send", 1]),
    play: async (stage) => {
      await begun(stage);
      await stage.waiting();
      await stage.steer("Be quick.");
      await stage.server.deny("call_0", { reason: "no" });
      await stage.ended();
    },
  },
  {
    name: "denied at the last iteration",
    rules: calling(["send", 1]),
    config: { maxIterations: 1 },
    play: async (stage) => {
      await begun(stage);
      await stage.waiting();
      await stage.server.deny("call_0");
      await stage.ended();
    },
  },
  {
    name: "approved elsewhere",
    rules: calling(["send", 1]),
    play: async (stage) => {
      await begun(stage);
      await stage.waiting();
      await stage.world.process().decide(THREAD_ID, { toolCallId: "call_0", approved: true });
      await stage.ended();
    },
  },
  {
    name: "denied elsewhere while words wait",
    rules: calling(["send", 1]),
    play: async (stage) => {
      await begun(stage);
      await stage.waiting();
      await stage.steer("Be quick.");
      await stage.world.process().decide(THREAD_ID, { toolCallId: "call_0", approved: false });
      await stage.ended();
    },
  },
  {
    name: "denied elsewhere at the last iteration",
    rules: calling(["send", 1]),
    config: { maxIterations: 1 },
    play: async (stage) => {
      await begun(stage);
      await stage.waiting();
      await stage.world.process().decide(THREAD_ID, { toolCallId: "call_0", approved: false });
      await stage.ended();
    },
  },
  { name: "approved while nobody was there", rules: calling(["send", 1]), play: decidedMeanwhile(true) },
  { name: "denied while nobody was there", rules: calling(["send", 1]), play: decidedMeanwhile(false) },
  {
    name: "answered by the user while words wait",
    rules: calling(["ask_user", 1]),
    play: async (stage) => {
      await begun(stage);
      await stage.waiting();
      await stage.steer("Be quick.");
      await stage.server.answer("call_0", "blue");
      await stage.ended();
    },
  },
  {
    name: "answered by the user at the last iteration",
    rules: calling(["ask_user", 1]),
    config: { maxIterations: 1 },
    play: async (stage) => {
      await begun(stage);
      await stage.waiting();
      await stage.server.answer("call_0", "blue");
      await stage.ended();
    },
  },
  {
    name: "cancelled while somebody decides who has to approve",
    rules: calling(["look", 1], ["pay", 2]),
    slowAppends: [3],
    timed: (ports) => ({ guardTools: ({ name }) => (name === "look" ? "allow" : later(ports, "ask" as const)) }),
    play: async (stage) => {
      await begun(stage);
      await stage.until(() => stage.world.toolRuns.count > 0);
      await stage.server.cancel();
    },
    ends: ["cancelled", "completed"],
  },
  {
    name: "cancelled before the user is asked",
    rules: calling(["look", 1], ["ask_user", 2]),
    slowAppends: [3],
    timed: (ports) => ({ guardTools: ({ name }) => (name === "look" ? "allow" : later(ports, "allow" as const)) }),
    play: async (stage) => {
      await begun(stage);
      await stage.until(() => stage.world.toolRuns.count > 0);
      await stage.server.cancel();
    },
    ends: ["cancelled", "completed"],
  },
  {
    name: "a tool that asks a question",
    rules: calling(["book", 1]),
    config: asksForSeat(),
    play: async (stage) => {
      await begun(stage);
      await stage.waiting();
      await stage.server.answer("call_0", "12A");
      await stage.ended();
    },
  },
  {
    name: "finished while a tool thinks of a question",
    rules: calling(["book", 1]),
    timed: asksForSeat,
    play: async (stage) => {
      await begun(stage);
      await stage.until(() => stage.world.log.state.run?.calls.length === 1);
      await stage.server.finish();
      await stage.ended();
    },
  },
  {
    name: "not decided before its deadline",
    rules: calling(["send", 1]),
    play: async (stage) => {
      await stage.start();
      await stage.ask("Do it.", { deadline: 2_000 });
      await stage.ended();
    },
    ends: ["failed", "completed"],
  },
  {
    name: "answered by the user behind a guard",
    rules: calling(["ask_user", 1]),
    config: { guardTools: () => "allow" },
    play: async (stage) => {
      await begun(stage);
      await stage.waiting();
      await stage.server.answer("call_0", "blue");
      await stage.ended();
    },
  },
];
