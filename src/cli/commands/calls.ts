import type { CallDetail, CallRow } from "../answers.ts";
import { pathOf } from "../calls.ts";
import { defineCommand } from "../command.ts";
import { PARTS, prefixTokens } from "../facts.ts";
import { AGENT, PLACE } from "../options.ts";
import { wholeNumber } from "../parse.ts";
import { at, type Place } from "../place.ts";
import { printTable } from "../print-table.ts";
import { Progress } from "../progress.ts";
import { when } from "../text.ts";

const USUAL = 20;
const COLUMNS = ["seq", "call", "time (UTC)", "model", "estimated", "reported", "cached", "end"];
const PARTS_COLUMNS = ["seq", "call", ...PARTS, "total", "prefix", "what moved it"];

export const calls = defineCommand({
  args: "<thread>",
  options: {
    limit: { type: "string", short: "n", value: "number", help: `default ${USUAL}, newest first` },
    before: { type: "string", value: "seq", help: "only those before this entry" },
    explain: { type: "boolean", help: "tokens by part, how much of it began as the call before, and what moved that" },
    ...PLACE,
    ...AGENT,
  },
  notes: [
    "Columns: seq, call, time, model, tokens estimated, reported, and of those from the cache, how it ended.",
    "With --explain: seq, call, tokens of system, tools, summary, history, pending and all, of those in the prefix that",
    "is the same as in the call before and can come from a cache, and the rule that moved its end.",
  ],
  examples: [
    { run: "heddle calls last", does: "of the newest thread" },
    { run: "heddle calls last --explain", does: "where the tokens go, and what a cache can keep" },
    { run: "heddle calls last --limit 1 --json", does: "the newest call, with all that was recorded" },
  ],
  run: (call) =>
    at(call, {}, async (place) => {
      const { io, options, out } = call;
      const id = await place.threadId(call.args[0] ?? "");
      const query = {
        limit: wholeNumber(options.limit, "--limit", 1) ?? USUAL,
        before: wholeNumber(options.before, "--before"),
      };
      const found = await place.get<{ readonly calls: readonly CallRow[] }>(pathOf(id, "calls"), query);
      if (options.explain === true) {
        const details = await detailsOf(place, id, found.calls, new Progress(out, "rebuilding", io));
        if (out.isJson) await out.json({ threadId: id, ...found, calls: details.map(explained) });
        else await printTable(out, PARTS_COLUMNS, details.map(partCells));
      } else if (out.isJson) await out.json({ threadId: id, ...found });
      else await printTable(out, COLUMNS, found.calls.map(cells));
      if (found.calls.length === 0)
        await out.say(
          query.before === undefined ? "No model was called in this thread." : "No call before that entry.",
        );
      return undefined;
    }),
});

/** One after the other: each is made again from the log. */
async function detailsOf(
  place: Place,
  id: string,
  rows: readonly CallRow[],
  progress: Progress,
): Promise<readonly CallDetail[]> {
  const details: CallDetail[] = [];
  for (const { callId, seq } of rows) {
    await progress.at(details.length, rows.length);
    details.push(await place.get<CallDetail>(pathOf(id, "calls", callId), { seq }));
  }
  await progress.end();
  return details;
}

function explained(detail: CallDetail) {
  const { call, proven, meta, previous } = detail;
  return { ...call, proven, ...(meta && { budget: meta.budget }), prefixTokens: prefixTokens(detail), previous };
}

function partCells(detail: CallDetail): readonly string[] {
  const { call, meta, previous, problem } = detail;
  const parts = PARTS.map((part) => (meta === undefined ? "-" : String(meta.budget[part])));
  const { firstChange } = previous ?? {};
  const first = previous === undefined ? "the first call" : "";
  const moved = firstChange === undefined ? first : `[${firstChange.index}] ${firstChange.rule}: ${firstChange.why}`;
  const why = problem === undefined ? moved : `not proven: ${problem.message}`;
  return [String(call.seq), call.callId, ...parts, String(call.estimatedTokens), String(prefixTokens(detail)), why];
}

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
