import type { Stage, Story } from "./stage.ts";
import { begun, calling, DONE } from "./story-parts.ts";

/** From now on every switch of the log is followed by the ask that came with it. */
function neverApart(stage: Stage): void {
  stage.world.acknowledged.add("a branch and its ask", ({ thread }) =>
    thread
      .filterByKind("ai_context_operation")
      .every(({ seq, payload }) => thread.at(seq + 1)?.payload["contextRef"] === payload.contextRef),
  );
}

async function firstAsk({ server }: Stage): Promise<string> {
  const [ask] = (await server.thread()).filterByKind("ai_message");
  if (ask === undefined) throw new Error("nothing was asked");
  return ask.id;
}

/** The second ask is an edit of the first, and the third goes on with what was edited. */
async function edit(stage: Stage): Promise<void> {
  await stage.ask("Do that.", { branch: { before: await firstAsk(stage), lane: "second" } });
  await stage.ended();
  await stage.ask("And this.", { branch: { lane: "default" } });
  await stage.ended();
}

export const BRANCH_STORIES: readonly Story[] = [
  {
    name: "an edited message, and a return to the first branch",
    rules: DONE,
    play: async (stage) => {
      neverApart(stage);
      await begun(stage);
      await stage.ended();
      await edit(stage);
    },
  },
  {
    name: "an edited message that waits in the queue",
    rules: (prompt) => (prompt.includes("Do that.") ? "Done." : calling(["slow", 1])(prompt)),
    config: { busy: "queue" },
    play: async (stage) => {
      neverApart(stage);
      await begun(stage);
      const branch = { before: await firstAsk(stage), lane: "second" };
      const next = stage.server.ask("Do that.", { requestId: "next", branch });
      next.catch(() => undefined);
      await stage.steer("Be quick.");
      const rows = await stage.server.pending();
      if (rows.some(({ id }) => id === "next")) stage.mustEnd("next"); // the ask is prepared while the steer is written
      await (await next).result;
    },
  },
];
