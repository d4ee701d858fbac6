import type { ThreadRow } from "../answers.ts";
import { pathOf } from "../calls.ts";
import { defineCommand } from "../command.ts";
import { badUsage } from "../exit.ts";
import { PLACE } from "../options.ts";
import { wholeNumber } from "../parse.ts";
import { at } from "../place.ts";

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
      const { out, options, args } = call;
      const id = await place.threadId(args[0] ?? "");
      const { rev } = await place.get<ThreadRow>(pathOf(id));
      if (rev === 0) throw badUsage("This thread is empty, so there is nothing to share.");
      const atSeq = wholeNumber(options.at, "--at") ?? rev - 1;
      const row = await place.post<ThreadRow>(pathOf(id, "fork"), { atSeq, title: options.title });
      await (out.isJson ? out.json(row) : out.data(row.id));
      return undefined;
    }),
});
