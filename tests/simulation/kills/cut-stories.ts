import type { Story } from "./stage.ts";
import { begun, DONE, spoken } from "./story-parts.ts";

/** Stories of answers that were cut to what was spoken. */
export const CUT_STORIES: readonly Story[] = [
  {
    name: "an answer that is cut, and another ask",
    rules: DONE,
    play: async (stage) => {
      await begun(stage);
      const requestId = stage.server.request?.id ?? "";
      await stage.ended();
      await stage.server.cutAnswer({ requestId, spoken: "Do", opId: "half" });
      const isCut = ({ id }: { readonly id: string }) => id === "cut_half";
      stage.world.acknowledged.add("the cut", ({ thread }) => thread.filterByKind("note").some(isCut));
      await stage.ask("And then?");
      await stage.ended();
    },
  },
  {
    name: "cancelled with the words that were spoken",
    rules: () => ({ silence: "Well" }),
    config: { streamIdleTimeoutMs: 9_000 },
    play: async (stage) => {
      await begun(stage);
      const { request } = stage.server;
      await spoken(stage);
      await stage.server.cancel(request?.id, undefined, { spoken: "We" });
      stage.world.acknowledged.add("the cut", ({ thread }) => {
        return thread.filterByKind(["note", "error"]).some(({ payload }) => "cut" in payload);
      });
    },
    ends: ["cancelled", "failed"],
  },
];
