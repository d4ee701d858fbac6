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
    at: { type: "string", value: "seq", help: "the last shared entry; default: the last entry of the thread" },
    title: { type: "string", value: "text", help: "title of the fork" },
    ...PLACE,
  },
  notes: ["Prints the id of the new thread on stdout. A request that is open at that entry is closed in the fork."],
  examples: [
    { run: "heddle fork last --at 0 --title 'Another try'", does: "make a thread that shares only the first entry" },
  ],
  run: (call) =>
    at(call, {}, async (place) => {
      const { io, out, options, args } = call;
      const id = await place.threadId(args[0] ?? "");
      const { rev } = await place.get<ThreadRow>(pathOf(id));
      if (rev === 0) throw badUsage("This thread is empty, so there is nothing to share.");
      const atSeq = wholeNumber(options.at, "--at") ?? rev - 1;
      const progress = new Progress(out, "forking", io);
      if (atSeq >= LONG) await progress.at(0, atSeq + 1); // a local store may block this process while it copies
      const forking = place.post<ThreadRow>(pathOf(id, "fork"), { atSeq, title: options.title });
      const row = await progress.during(forking);
      await (out.isJson ? out.json(row) : out.data(row.id));
      await out.say(
        out.talk("dim", `The fork shares ${atSeq === 0 ? "entry 0" : `the entries 0 to ${atSeq}`} with ${id}.`),
      );
      return undefined;
    }),
});
