import type { CallDetail, CallRow } from "../../studio/contract.ts";
import { bodyFor, WIRES } from "../../studio/routes/calls.ts";
import { settingLine } from "../../studio/setting-line.ts";
import { AGENT_OPTIONS, CLIENT_OPTIONS, defineCommand, oneOf, wholeNumber } from "../command.ts";
import {
  budgetLine,
  PARTS,
  prefixLine,
  prefixTokens,
  printExplained,
  printMessages,
  printTools,
  usageLine,
  viewLine,
} from "../context-report.ts";
import { EXIT } from "../io.ts";
import { Progress, printTable, when } from "../output.ts";
import { type StudioClient, withClient } from "../studio-client.ts";
import { loadCall, pathOf } from "../studio-requests.ts";

const DEFAULT_CALLS = 20;
const COLUMNS = ["seq", "call", "time (UTC)", "model", "estimated", "reported", "cached", "end"];
const PARTS_COLUMNS = ["seq", "call", ...PARTS, "total", "prefix", "what moved it"];

export const calls = defineCommand({
  args: "<thread>",
  options: {
    limit: {
      type: "string",
      short: "n",
      value: "number",
      help: `how many calls, newest first; default ${DEFAULT_CALLS}`,
    },
    before: { type: "string", value: "seq", help: "only calls before this entry" },
    explain: {
      type: "boolean",
      help: "tokens of each part, of the prefix shared with the call before, and the rule that ended this prefix",
    },
    ...CLIENT_OPTIONS,
    ...AGENT_OPTIONS,
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
    withClient(call, {}, async (client) => {
      const { io, options, out } = call;
      const id = await client.threadId(call.args[0] ?? "");
      const query = {
        limit: wholeNumber(options.limit, "--limit", 1) ?? DEFAULT_CALLS,
        before: wholeNumber(options.before, "--before"),
      };
      const found = await client.get<{ readonly calls: readonly CallRow[] }>(pathOf(id, "calls"), query);
      if (options.explain === true) {
        const details = await detailsOf(client, id, found.calls, new Progress(out, "rebuilding", io));
        if (out.isJson) await out.json({ threadId: id, ...found, calls: details.map(explained) });
        else await printTable(out, PARTS_COLUMNS, details.map(partCells));
      } else if (out.isJson) await out.json({ threadId: id, ...found });
      else await printTable(out, COLUMNS, found.calls.map(cells));
      if (found.calls.length === 0)
        await out.info(
          query.before === undefined ? "No model was called in this thread." : "There is no call before that entry.",
        );
      return undefined;
    }),
});

/** Loads the calls one after the other, because each is rebuilt from the log. */
async function detailsOf(
  client: StudioClient,
  id: string,
  rows: readonly CallRow[],
  progress: Progress,
): Promise<readonly CallDetail[]> {
  const details: CallDetail[] = [];
  for (const { callId, seq } of rows) {
    await progress.at(details.length, rows.length);
    details.push(await client.get<CallDetail>(pathOf(id, "calls", callId), { seq }));
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

export const rebuild = defineCommand({
  args: "<thread> [call]",
  options: {
    explain: { type: "boolean", help: "show the status of every entry instead of the messages" },
    provider: { type: "string", value: "name", help: `print the request body for ${WIRES.join(", ")}` },
    ...CLIENT_OPTIONS,
    ...AGENT_OPTIONS,
  },
  notes: [
    "A call is an id, `last` (default), or `last~2`. It is rebuilt from the log and compared with the fingerprint of what",
    "was sent. The exit code is 1 if they differ. Name an agent with its own readers or token counter by --agent.",
  ],
  examples: [
    { run: "heddle rebuild last", does: "show what the newest call sent" },
    { run: "heddle rebuild last last~1 --explain", does: "show the call before, entry by entry" },
    { run: "heddle rebuild last --provider anthropic", does: "print the JSON body for a provider" },
  ],
  run: (call) =>
    withClient(call, {}, async (client) => {
      const { out, options, args } = call;
      const provider = options.provider === undefined ? undefined : oneOf(WIRES, options.provider, "--provider");
      const id = await client.threadId(args[0] ?? "");
      const detail = await loadCall(client, id, args[1]);
      const { proven, problem, messages, toolSpec, provenance, explained, record, meta, previous } = detail;
      if (provider !== undefined) {
        const body = bodyFor(provider, messages, toolSpec);
        await (out.isJson ? out.json({ provider, proven, body }) : out.data(JSON.stringify(body, null, 2)));
      } else if (out.isJson) await out.json({ threadId: id, ...detail });
      else if (options.explain === true) await printExplained(out, explained);
      else {
        await printTools(out, toolSpec);
        await printMessages(out, messages, provenance, previous?.stablePrefix);
      }
      if (!proven) {
        await out.error(
          `${out.paintError("red", "not proven:")} ${problem?.message ?? "the rebuilt call differs from what was sent."}`,
        );
        return EXIT.failed;
      }
      await out.info(`${out.paintError("green", "proven:")} ${record.fingerprint}`);
      if (out.isJson) return undefined;
      const facts = [
        ...(meta === undefined ? [] : [budgetLine(meta), viewLine(meta)]),
        usageLine(detail),
        prefixLine(detail),
        ...detail.heldSettings.map((entry) => `set by entry ${entry.seq}: ${settingLine(entry)}`),
      ];
      for (const fact of facts) await out.info(out.paintError("dim", fact));
      return undefined;
    }),
});
