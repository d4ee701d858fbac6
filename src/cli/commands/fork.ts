import type { ThreadRow } from "../answers.ts";
import { pathOf } from "../calls.ts";
import { defineCommand } from "../command.ts";
import { badUsage } from "../exit.ts";
import { PLACE } from "../options.ts";
import { wholeNumber } from "../parse.ts";
import { at } from "../place.ts";
import { Progress } from "../progress.ts";

const LONG = 10_000;

export const fork = defineCommand({
  args: "<thread>",
  options: {
    at: { type: "string", value: "seq", help: "the last entry that both have; default the last there is" },
    title: { type: "string", value: "text", help: "of the fork" },
    ...PLACE,
  },
  notes: ["The id of the new thread is the one line on stdout. A request that was open there is closed in the fork."],
  examples: [{ run: "heddle fork last --at 0 --title 'Another try'", does: "both go on from the first ask" }],
  run: (call) =>
    at(call, {}, async (place) => {
      const { io, out, options, args } = call;
      const id = await place.threadId(args[0] ?? "");
      const { rev } = await place.get<ThreadRow>(pathOf(id));
      if (rev === 0) throw badUsage("This thread is empty, so there is nothing to share.");
      const atSeq = wholeNumber(options.at, "--at") ?? rev - 1;
      const progress = new Progress(out, "forking", io);
      if (atSeq >= LONG) await progress.at(0, atSeq + 1); // a store of this process may copy without a pause
      const forking = place.post<ThreadRow>(pathOf(id, "fork"), { atSeq, title: options.title });
      const row = await progress.during(forking);
      await (out.isJson ? out.json(row) : out.data(row.id));
      await out.say(out.talk("dim", `It shares ${atSeq === 0 ? "entry 0" : `the entries 0 to ${atSeq}`} with ${id}.`));
      return undefined;
    }),
});
