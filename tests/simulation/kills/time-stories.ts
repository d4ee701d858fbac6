import { sleep } from "heddle";
import type { RuntimePorts } from "../../../src/runtime/ports.ts";
import type { Story } from "./stage.ts";
import { begun, calling, later } from "./story-parts.ts";

/** A tool that sleeps. It does so at once, or takes its time before. */
function sleeps(ports?: RuntimePorts) {
  const marked = sleep(2_000, "Rested.");
  return {
    tools: { rest: { inputSchema: { type: "object" }, execute: () => (ports ? later(ports, marked) : marked) } },
  } as const;
}

/** Stories in which something is due at a time. */
export const TIME_STORIES: readonly Story[] = [
  {
    name: "a tool that sleeps, beside one that runs, while words wait",
    rules: calling(["rest", 1], ["slow", 2]),
    config: sleeps(),
    play: async (stage) => {
      await begun(stage);
      await stage.logged("sleep_started");
      await stage.steer("Be quick.");
      await stage.ended();
    },
  },
  {
    name: "left asleep, and woken by who comes next",
    rules: calling(["rest", 1]),
    config: sleeps(),
    play: async (stage) => {
      await begun(stage);
      await stage.waiting();
      await stage.server.stop();
      await stage.start();
      await stage.ended();
    },
  },
  {
    name: "finished while a tool falls asleep",
    rules: calling(["rest", 1]),
    timed: sleeps,
    play: async (stage) => {
      await begun(stage);
      await stage.until(() => stage.world.log.state.run?.calls.length === 1);
      await stage.server.finish();
      await stage.ended();
    },
  },
  {
    name: "skipped while a tool falls asleep",
    rules: calling(["rest", 1]),
    timed: sleeps,
    play: async (stage) => {
      await begun(stage);
      await stage.until(() => stage.world.log.state.run?.calls.length === 1);
      const { accepted } = await stage.server.steer("Stop that.", { id: "stop", skip: true });
      if (accepted) stage.mustEnd("stop");
      await stage.ended();
    },
  },
  {
    name: "an ask that waits for its time, behind a request, while another is withdrawn",
    rules: calling(["slow", 1]),
    play: async (stage) => {
      await begun(stage);
      await stage.server.ask("Later.", { requestId: "later", at: 1_000 });
      await stage.server.ask("Never.", { requestId: "never", at: 5_000 });
      await stage.server.amend("later", { at: 1_500 });
      await stage.server.withdraw("never");
      await stage.until(() => stage.world.log.thread.filterByRef("requestId", "later").length > 0);
      await stage.ended();
    },
  },
  {
    name: "an ask whose time comes when its process is gone",
    rules: calling(["look", 1]),
    play: async (stage) => {
      await stage.start();
      await stage.server.ask("Later.", { requestId: "later", at: 1_000 });
      await stage.server.stop();
      await stage.start();
      await stage.ended();
    },
  },
  {
    name: "cancelled while a tool falls asleep",
    rules: calling(["rest", 1]),
    timed: sleeps,
    play: async (stage) => {
      await begun(stage);
      await stage.until(() => stage.world.log.state.run?.calls.length === 1);
      await stage.server.cancel();
    },
    ends: ["cancelled", "completed"],
  },
];
