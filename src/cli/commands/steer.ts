import { defineCommand } from "../command.ts";
import { badUsage, CliError, EXIT } from "../exit.ts";
import { contentGiven } from "../given.ts";
import { SERVER } from "../options.ts";
import { oneOf } from "../parse.ts";
import { serverOf } from "../place.ts";
import { reasonTold, steerAt } from "../steer-at.ts";

export const steer = defineCommand({
  args: "<thread> [text...]",
  options: {
    kind: {
      type: "string",
      value: "kind",
      help: "steer (default): before the next model call; follow_up: when the request is done; inject: from another source",
    },
    source: { type: "string", value: "name", help: "with --kind inject: the name of the source" },
    ...SERVER,
  },
  notes: ["The text must reach the process that runs the request. Name that Studio with --server or HEDDLE_SERVER."],
  examples: [
    {
      run: 'heddle steer last "In euros, please." --server http://127.0.0.1:4747',
      does: "send text before the next model call",
    },
  ],
  run: async (call) => {
    const { io, out, options, args } = call;
    const kind = oneOf(["steer", "follow_up", "inject"], options.kind ?? "steer", "--kind");
    if (kind === "inject" && options.source === undefined) throw badUsage("--kind inject needs --source.");
    const place = serverOf({ io, options });
    if (place === undefined) throw serverNeeded();
    const content = await contentGiven(io, args.slice(1));
    const id = await place.threadId(args[0] ?? "");
    const steered = await steerAt(place, id, { content, kind, source: options.source });
    if (out.isJson) await out.json(steered);
    if (steered.accepted) return EXIT.ok;
    if (!out.isJson) await out.error(`Not delivered: ${reasonTold(steered.reason)}.`);
    return EXIT.refused;
  },
});

function serverNeeded(): CliError {
  const message =
    "Only the process that runs a request can take text for it. Run the thread in a Studio (heddle studio) and name it: " +
    "--server http://127.0.0.1:4747";
  return new CliError({ code: "server_needed", exit: EXIT.usage, message });
}
