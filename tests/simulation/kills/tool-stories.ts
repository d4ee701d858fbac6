import type { RuntimePorts } from "../../../src/runtime/ports.ts";
import type { Story } from "./stage.ts";
import { begun, calling, later } from "./story-parts.ts";

/** A tool that shows an output before it has ended. */
function counts(ports: RuntimePorts) {
  async function* execute() {
    yield "half";
    yield await later(ports, "whole");
  }
  return { tools: { count: { inputSchema: { type: "object" }, execute } } } as const;
}

/** Stories of outputs and repetitions of tools. */
export const TOOL_STORIES: readonly Story[] = [
  {
    name: "the same call as often as its limit says",
    rules: () => ({ calls: [["look", 1]] }),
    config: { limits: { repeatedCalls: 2 } },
    play: async (stage) => {
      await begun(stage);
      await stage.ended();
    },
  },
  {
    name: "a tool that shows what it has, and ends",
    rules: calling(["count", 1]),
    timed: counts,
    play: async (stage) => {
      await begun(stage);
      await stage.ended();
    },
  },
  {
    name: "cancelled while a tool has shown a part",
    rules: calling(["count", 1]),
    timed: counts,
    play: async (stage) => {
      await begun(stage);
      const { request } = stage.server;
      let hasOutput = false;
      const listen = async (): Promise<void> => {
        for await (const { kind } of request?.events() ?? []) hasOutput ||= kind === "tool_output";
      };
      void listen();
      await stage.until(() => hasOutput);
      await stage.server.cancel();
    },
    ends: ["cancelled", "completed"],
  },
];
