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
    limit: { type: "string", short: "n", value: "number", help: `how many calls, newest first; default ${USUAL}` },
    before: { type: "string", value: "seq", help: "only calls before this entry" },
    explain: {
      type: "boolean",
      help: "tokens of each part, of the prefix shared with the call before, and the rule that ended this prefix",
    },
    ...PLACE,
    ...AGENT,
  },
  notes: [
    "Columns: seq, call, time, model, estimated tokens, reported tokens, tokens from the cache, end.",
    "With --explain: seq, call, tokens of system, tools, summary, history and pending, the total, the tokens of the prefix",
    "that equals the call before and can come from a cache, and the rule that ended this prefix.",
  ],
  examples: [
    { run: "heddle calls last", does: "list the calls of the newest thread" },
    { run: "heddle calls last --explain", does: "show where the tokens go, and what a cache can hold" },
    { run: "heddle calls last --limit 1 --json", does: "print the newest call, with everything recorded" },
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
          query.before === undefined ? "No model was called in this thread." : "There is no call before that entry.",
        );
      return undefined;
    }),
});

/** Loads the calls one after the other, because each is rebuilt from the log. */
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
