import { listWaiting } from "../../runtime/host/list-waiting.ts";
import { runtimePorts } from "../../runtime/ports.ts";
import { threadNotFound } from "../../stores/errors.ts";
import { escapeHidden } from "../../thread/hidden-characters.ts";
import { type CommandCall, defineCommand, oneOf, parseTime, STORE_OPTIONS, wholeNumber } from "../command.ts";
import { canAsk } from "../decision-prompt.ts";
import { badUsage, EXIT } from "../io.ts";
import { count, printTable, when } from "../output.ts";
import { type LocalStudioClient, localClient } from "../studio-client.ts";

// Commands on the whole store, for the person who runs it. A Studio has no API for them.

type StoreCall = CommandCall<typeof STORE_OPTIONS>;

async function withStore<Result>(
  call: StoreCall,
  work: (client: LocalStudioClient) => Promise<Result>,
): Promise<Result> {
  const options = { ...call.options, server: undefined, token: undefined, agent: undefined };
  const client = await localClient({ ...call, options }, {});
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

const KINDS = ["approval", "answer", "sleep"] as const;
const DEFAULT_CALLS = 50;
const CALLS_PER_READ = 200;
const WAITING_COLUMNS = ["thread", "since (UTC)", "until (UTC)", "kind", "agent", "call"];

export const waiting = defineCommand({
  args: "",
  options: {
    kind: { type: "string", value: "kind", help: "approval, answer or sleep; default all" },
    limit: { type: "string", short: "n", value: "number", help: `how many calls; default ${DEFAULT_CALLS}` },
    ...STORE_OPTIONS,
  },
  notes: ["The longest wait comes first. Decide with heddle approve, deny and answer."],
  examples: [
    { run: "heddle waiting", does: "list the calls of all threads that wait" },
    { run: "heddle waiting --kind approval --json", does: "list the approvals as JSON, with the arguments" },
  ],
  run: (call) =>
    withStore(call, async ({ store }) => {
      const { options, out } = call;
      const kind = options.kind === undefined ? undefined : oneOf(KINDS, options.kind, "--kind");
      const limit = wholeNumber(options.limit, "--limit", 1) ?? DEFAULT_CALLS;
      const found: Awaited<ReturnType<typeof listWaiting>>["calls"][number][] = [];
      let cursor: string | undefined;
      do {
        const page = { kind, cursor, limit: Math.min(CALLS_PER_READ, limit - found.length) };
        const { calls, cursor: next } = await listWaiting(store, runtimePorts(), page);
        found.push(...calls);
        cursor = next;
      } while (cursor !== undefined && found.length < limit);
      if (out.isJson) await out.json({ calls: found, ...(cursor !== undefined && { more: true }) });
      const rows = found.map(({ threadId, since, deadline, kind: of, agent, toolCallId, name, arguments: given }) => {
        const shown = `${toolCallId} ${name} ${given === undefined ? "(long arguments)" : JSON.stringify(given)}`;
        return [threadId, when(since), deadline === undefined ? "-" : when(deadline), of, agent, escapeHidden(shown)];
      });
      if (!out.isJson) await printTable(out, WAITING_COLUMNS, rows);
      if (found.length === 0) await out.info("No call waits.");
      else if (cursor !== undefined && !out.isJson) await out.info("There are more. Use --limit to see them.");
      return undefined;
    }),
});

const USAGE_COLUMNS = ["day (UTC)", "model", "calls", "input", "from cache", "to cache", "output", "reasoning"];

export const usage = defineCommand({
  args: "[thread]",
  options: {
    owner: { type: "string", value: "name", help: "only usage of this owner" },
    since: { type: "string", value: "time", help: "the first day: 2026-01-31, or milliseconds since 1970" },
    until: { type: "string", value: "time", help: "the last day, which is included" },
    ...STORE_OPTIONS,
  },
  notes: ["Tokens by UTC day and model, from sums that the store keeps. Deleted threads are included."],
  examples: [
    { run: "heddle usage --since 2026-01-01", does: "list the tokens of each day and model" },
    { run: "heddle usage last --json", does: "print those of one thread as JSON" },
  ],
  run: (call) =>
    withStore(call, async (client) => {
      const { options, out, args } = call;
      const threadId = args[0] === undefined ? undefined : await client.threadId(args[0]);
      const [since, until] = [dayIn(options.since, "--since"), dayIn(options.until, "--until")];
      const days = await client.store.usage({ owner: options.owner, threadId, since, until });
      if (out.isJson) await out.json({ days });
      const rows = days.flatMap(({ day, models }) =>
        models.map((used) => {
          const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens } = used;
          const tokens = [used.calls, inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens];
          return [day, used.model, ...tokens.map(String)];
        }),
      );
      if (!out.isJson) await printTable(out, USAGE_COLUMNS, rows);
      const asks = days.reduce((sum, day) => sum + day.asks, 0);
      await out.info(days.length === 0 ? "No usage." : `${count(asks, "ask")} on ${count(days.length, "day")}.`);
      return undefined;
    }),
});

function dayIn(text: string | undefined, option: string): number | undefined {
  const time = parseTime(text, option);
  if (time === undefined) return undefined;
  return /^\d+$/.test(time) ? Number(time) : Date.parse(time);
}

export const deleteThread = defineCommand({
  args: "<thread>",
  options: {
    forks: { type: "boolean", help: "also delete its forks, and the forks of these" },
    yes: { type: "boolean", short: "y", help: "do not ask; needed without a terminal" },
    ...STORE_OPTIONS,
  },
  notes: [
    "Cannot be undone. A request that runs ends. Sums of usage stay, and the threads of sub-agents; forks stay without --forks.",
  ],
  examples: [
    { run: "heddle delete last --yes", does: "delete a thread" },
    { run: "heddle delete last --forks --yes --json", does: "delete it with its forks, and print all ids" },
  ],
  run: (call) =>
    withStore(call, async (client) => {
      const { io, out, options, args } = call;
      const id = await client.threadId(args[0] ?? "");
      if (options.yes !== true) {
        if (!canAsk(io, options)) throw badUsage(`Deleting ${id} cannot be undone. Add --yes.`);
        const answer = (await io.ask(out.question(`Delete ${id}? This cannot be undone. [y/n] `)))?.trim();
        if (!/^y(es)?$/i.test(answer ?? "")) return EXIT.refused;
      }
      const deletion = await client.store.delete(id, { forks: options.forks === true ? "delete" : "keep" });
      if (deletion === false) throw threadNotFound(id);
      if (out.isJson) await out.json(deletion);
      const kept = deletion.keptFor.length === 0 ? "" : ` Entries stay for ${deletion.keptFor.join(", ")}.`;
      await out.info(`${count(deletion.deleted.length, "thread")} deleted.${kept}`);
      return undefined;
    }),
});
