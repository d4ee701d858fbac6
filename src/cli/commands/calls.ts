import type { CallRow } from "../answers.ts";
import { pathOf } from "../calls.ts";
import { defineCommand } from "../command.ts";
import { PLACE } from "../options.ts";
import { wholeNumber } from "../parse.ts";
import { at } from "../place.ts";
import { table, when } from "../text.ts";

const USUAL = 20;

export const calls = defineCommand({
  args: "<thread>",
  options: {
    limit: { type: "string", short: "n", value: "number", help: `default ${USUAL}, newest first` },
    before: { type: "string", value: "seq", help: "only those before this entry" },
    ...PLACE,
  },
  notes: ["Columns: seq, call, time, model, tokens estimated, tokens reported, of those from the cache, how it ended."],
  examples: [
    { run: "heddle calls last", does: "of the newest thread" },
    { run: "heddle calls last --limit 1 --json", does: "the newest call, with all that was recorded" },
  ],
  run: (call) =>
    at(call, {}, async (place) => {
      const { options, out } = call;
      const id = await place.threadId(call.args[0] ?? "");
      const query = {
        limit: wholeNumber(options.limit, "--limit") ?? USUAL,
        before: wholeNumber(options.before, "--before"),
      };
      const found = await place.get<{ readonly calls: readonly CallRow[] }>(pathOf(id, "calls"), query);
      if (out.isJson) await out.json({ threadId: id, ...found });
      else for (const line of table(found.calls.map(cells), out.width)) await out.data(line);
      if (found.calls.length === 0) await out.say("No model was called in this thread.");
      return undefined;
    }),
});

function cells({
  seq,
  callId,
  at: time,
  model,
  estimatedTokens,
  usage,
  finishReason,
  error,
}: CallRow): readonly string[] {
  const tokens = (count: number | undefined): string => (count === undefined ? "-" : String(count));
  const end = error === undefined ? (finishReason ?? "-") : String(error.code ?? "failed");
  const counts = [String(estimatedTokens), tokens(usage?.inputTokens), tokens(usage?.cacheReadTokens)];
  return [String(seq), callId, when(time), model ?? "-", ...counts, end];
}
