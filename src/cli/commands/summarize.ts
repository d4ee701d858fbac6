import { HeddleError } from "../../thread/errors.ts";
import type { JsonObject } from "../../thread/json.ts";
import type { EntriesWindow, ThreadDetail } from "../answers.ts";
import { pathOf } from "../calls.ts";
import { defineCommand } from "../command.ts";
import { CliError, EXIT, exitOf } from "../exit.ts";
import { AGENT, PLACE } from "../options.ts";
import { wholeNumber } from "../parse.ts";
import { at } from "../place.ts";
import { Progress } from "../progress.ts";
import { contentText } from "../text.ts";

export const summarize = defineCommand({
  args: "<thread>",
  options: {
    from: { type: "string", value: "seq", help: "the first entry; default: after the last summary" },
    to: { type: "string", value: "seq", help: "the last entry; default: before the turns that the policy keeps" },
    ...PLACE,
    ...AGENT,
  },
  notes: [
    "Writes the summary to stdout. The entries stay in the log; the model gets the summary instead of them from now on.",
  ],
  examples: [{ run: "heddle summarize last --to 3", does: "summarize the first entries of the newest thread" }],
  run: (call) =>
    at(call, { acts: true }, async (place) => {
      const { io, out, options, args } = call;
      const id = await place.threadId(args[0] ?? "");
      const { status } = await place.get<ThreadDetail>(pathOf(id));
      if (!place.isServer && (status === "running" || status === "waiting")) throw busy(status);
      const range = { fromSeq: wholeNumber(options.from, "--from"), toSeq: wholeNumber(options.to, "--to") };
      const writing = place.post<{ readonly seq: number }>(pathOf(id, "summarize"), range);
      const { seq } = await new Progress(out, "summarizing", io).during(writing).catch(inOptions);
      const { entries } = await place.get<EntriesWindow>(pathOf(id, "entries"), { from: seq, to: seq });
      const { content, fromSeq, toSeq } = (entries[0]?.payload ?? {}) as JsonObject; // payloads are JSON
      if (out.isJson) await out.json({ threadId: id, seq, fromSeq, toSeq, content });
      else await out.data(contentText(content));
      await out.say(out.talk("dim", `Entry ${seq} replaces the entries ${fromSeq} to ${toSeq} in the context.`));
      return undefined;
    }),
});

/** Replaces the field names of the API by the option names of the command line. */
function inOptions(error: unknown): never {
  if (!HeddleError.isInstance(error) || !/\b(from|to)Seq\b/.test(error.message)) throw error;
  const message = error.message.replaceAll(/\b(from|to)Seq\b/g, "--$1");
  throw new CliError({ code: error.code, exit: exitOf(error), message, cause: error });
}

function busy(status: string): CliError {
  const message = `A request is ${status} in this thread. Wait for its end, or name the Studio that runs it with --server.`;
  return new CliError({ code: "busy", exit: EXIT.refused, retryable: true, message });
}
