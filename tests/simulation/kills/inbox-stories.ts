import type { AskCommand, InjectOptions } from "heddle";
import { THREAD_ID } from "../../../src/testing/simulation/simulation-state.ts";
import type { Stage, Story } from "./stage.ts";
import { begun, calling, DONE } from "./story-parts.ts";

/** Any process posts it. From then on it has one outcome, and one entry if it is taken. */
async function post(stage: Stage, ask: Pick<AskCommand, "id"> & object): Promise<void> {
  await stage.world.store.post(THREAD_ID, { type: "ask", content: "And then?", ...ask });
  stage.mustEnd(ask.id);
}

async function inject(stage: Stage, content: string, options: Omit<InjectOptions, "source">): Promise<void> {
  const { id, accepted } = await stage.server.inject(content, { ...options, source: "monitor" });
  if (!accepted) throw new Error("the thread at rest takes no words");
  stage.mustEnd(id);
}

/** Commands that other processes post, and words for a thread at rest. */
export const INBOX_STORIES: readonly Story[] = [
  {
    name: "asks that wait, one of them amended and one withdrawn",
    rules: calling(["slow", 1]),
    config: { busy: "queue" },
    play: async (stage) => {
      await begun(stage);
      const next = stage.server.ask("And then?", { requestId: "next", author: { id: "u1", name: "Ada" } });
      const other = stage.server.ask("Never mind?", { requestId: "other" });
      for (const one of [next, other]) one.catch(() => undefined);
      await stage.steer("Be quick.");
      await stage.server.amend("next", "And now?");
      stage.mustEnd("next"); // what is acknowledged is a row
      stage.world.acknowledged.add("the author", ({ thread }) => {
        const [ask] = thread.filterByRef("requestId", "next");
        return ask === undefined || JSON.stringify(ask.payload).includes('"name":"Ada"');
      });
      await stage.server.withdraw("other");
      stage.mustEnd("other");
      await (await next).result;
    },
  },
  {
    name: "asks that are posted while a request runs, one of them malformed",
    rules: calling(["slow", 1]),
    config: { busy: "queue" },
    play: async (stage) => {
      await begun(stage);
      await post(stage, { id: "posted" });
      await post(stage, { id: "malformed", temprature: 1 } as Pick<AskCommand, "id">);
      await stage.until(() => stage.world.log.state.last?.run.requestId === "posted");
    },
  },
  {
    name: "words for a thread at rest, of which one replaces another",
    rules: DONE,
    play: async (stage) => {
      await begun(stage);
      await stage.ended();
      await inject(stage, "8 degrees.", { id: "older", key: "weather" });
      await inject(stage, "9 degrees.", { id: "newer", key: "weather" });
      await stage.ask("How warm is it?");
      await stage.ended();
    },
  },
  {
    name: "words that start a request",
    rules: DONE,
    play: async (stage) => {
      await stage.start();
      await inject(stage, "The build is red.", { id: "red", wake: true });
      await stage.until(() => stage.world.log.state.last?.run.requestId === "red");
    },
  },
];
