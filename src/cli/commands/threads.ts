import { callIn } from "../../runtime/calls/find-call.ts";
import type { EntryWindow, ThreadDetail, ThreadRow, ThreadRowPage } from "../../studio/contract.ts";
import type { Entry } from "../../thread/entry.ts";
import { HeddleError } from "../../thread/errors.ts";
import type { JsonObject } from "../../thread/json.ts";
import { CLIENT_OPTIONS, type CommandCall, defineCommand, oneOf, parseTime, wholeNumber } from "../command.ts";
import { badUsage, EXIT } from "../io.ts";
import { contentText, count, indented, line, type Output, printTable, when } from "../output.ts";
import { LocalStudioClient, type StudioClient, withClient } from "../studio-client.ts";
import { messagesIn, pathOf } from "../studio-requests.ts";

const DEFAULT_THREADS = 20;
const THREADS_PER_READ = 200;
const STATUSES = ["running", "waiting", "completed", "failed", "cancelled"] as const;
const COLUMNS = ["thread", "status", "entries", "changed (UTC)", "title"];

export const threads = defineCommand({
  args: "",
  options: {
    search: {
      type: "string",
      value: "text",
      help: "search in titles and messages; also an id of a thread, request or call",
    },
    status: { type: "string", value: "status", help: STATUSES.join(", ") },
    agent: { type: "string", value: "name", help: "only threads of this agent" },
    since: {
      type: "string",
      value: "time",
      help: "only from this time on: 2026-01-31, or milliseconds since 1970; the time is that of --order",
    },
    until: { type: "string", value: "time", help: "only up to this time" },
    order: { type: "string", value: "order", help: "updated (default) or created, newest first" },
    limit: { type: "string", short: "n", value: "number", help: `how many threads; default ${DEFAULT_THREADS}` },
    ...CLIENT_OPTIONS,
  },
  examples: [
    { run: "heddle threads", does: "list the newest threads" },
    { run: "heddle threads --search weather --since 2020-01-01 --limit 5", does: "list threads that mention a word" },
    { run: "heddle threads --status waiting --json", does: "list threads that wait for a decision, as JSON" },
  ],
  run: (call) =>
    // The name of an agent here is no file.
    withClient({ ...call, options: { ...call.options, agent: undefined } }, {}, async (client) => {
      const { options, out } = call;
      const { search, agent } = options;
      const status = options.status === undefined ? undefined : oneOf(STATUSES, options.status, "--status");
      const [since, until] = [parseTime(options.since, "--since"), parseTime(options.until, "--until")];
      const limit = wholeNumber(options.limit, "--limit", 1) ?? DEFAULT_THREADS;
      const order = oneOf(["updated", "created"], options.order ?? "updated", "--order");
      const found: ThreadRow[] = [];
      let cursor: string | undefined;
      do {
        const query = {
          search,
          status,
          agent,
          since,
          until,
          order,
          cursor,
          limit: Math.min(THREADS_PER_READ, limit - found.length),
        };
        const page: ThreadRowPage = await client.get("/api/threads", query);
        found.push(...page.threads);
        cursor = page.cursor;
      } while (cursor !== undefined && found.length < limit);
      const rows = found.slice(0, limit);
      if (out.isJson) await out.json({ threads: rows, ...(cursor !== undefined && { more: true }) });
      else await printTable(out, COLUMNS, rows.map(cells));
      const isNarrowed = [search, status, agent, since, until].some((one) => one !== undefined);
      if (rows.length === 0)
        await out.info(isNarrowed ? "No thread matches." : 'No threads. Start one: heddle ask "What is 6 * 7?"');
      else if (cursor !== undefined && !out.isJson)
        await out.info(out.paintError("dim", "There are more. Use --limit to see them."));
      return undefined;
    }),
});

function cells({ id, status, rev, updatedAt, title, parentThreadId, forkSeq }: ThreadRow): readonly string[] {
  const fork = parentThreadId === undefined ? "" : ` (fork at ${forkSeq})`;
  return [id, status ?? "-", String(rev), when(updatedAt), `${title}${title.endsWith("(fork)") ? "" : fork}`];
}

const DEFAULT_ENTRIES = 50;
const ENTRIES_PER_READ = 500;

const SHOW_OPTIONS = {
  last: {
    type: "string",
    short: "n",
    value: "number",
    help: `how many entries from the end; default ${DEFAULT_ENTRIES}`,
  },
  from: { type: "string", value: "seq", help: "the first entry to show" },
  to: { type: "string", value: "seq", help: "the last entry to show" },
  all: { type: "boolean", help: "show all entries" },
  kind: { type: "string", multiple: true, value: "kind", help: "show only this kind; repeat it for more kinds" },
  follow: { type: "boolean", short: "f", help: "also show new entries, until Ctrl-C" },
  ...CLIENT_OPTIONS,
} as const;

export const show = defineCommand({
  args: "<thread>",
  options: SHOW_OPTIONS,
  examples: [
    { run: "heddle show last", does: "show the end of the newest thread" },
    { run: "heddle show last --from 0 --to 3 --json", does: "print four entries as JSON" },
    { run: "heddle show last --all --kind ai_message", does: "show only the messages" },
    { run: "heddle show last --follow", does: "watch new entries" },
  ],
  run: (call) =>
    withClient(call, {}, async (client) => {
      const { options, out } = call;
      const id = await client.threadId(call.args[0] ?? "");
      const waiting = client instanceof LocalStudioClient ? await client.store.pending(id) : []; // a server does not list them
      const thread = await client.get<ThreadDetail>(pathOf(id)).catch(async (error: unknown) => {
        if (isDamage(error)) return { id, rev: await revOf(client, id), title: "Damaged entries", status: undefined };
        if (HeddleError.isInstance(error) && error.code === "thread_not_found" && waiting.length > 0) return undefined;
        throw error;
      });
      if (thread === undefined) {
        await out.info(out.paintError("bold", `${id} · no entries yet`));
        await (out.isJson ? out.json({ entries: [], waiting }) : printWaiting(out, waiting));
        return undefined;
      }
      const [from, to] = windowOf(call, thread.rev);
      const isWanted = (entry: Entry): boolean => options.kind === undefined || options.kind.includes(entry.kind);
      if (options.follow === true) return followEntries(call, client, id, from, isWanted);
      const entries: Entry[] = [];
      if (!out.isJson)
        await out.info(out.paintError("bold", `${line(thread.title, 200)} · ${id} · ${thread.status ?? "no status"}`));
      const earlier = Math.min(from, thread.rev);
      if (earlier > 0 && !out.isJson)
        await out.info(
          out.paintError("dim", `${count(earlier, "earlier entry", "earlier entries")}. See --all and --from.`),
        );
      let shown = 0;
      const damaged: number[] = [];
      for await (const entry of entriesOf(client, id, from, to)) {
        if ("damage" in entry) {
          damaged.push(entry.seq);
          await out.error(`${out.paintError("red", "error:")} ${entry.damage}`);
          continue;
        }
        if (!isWanted(entry)) continue;
        shown += 1;
        if (out.isJson) entries.push(entry);
        else await printEntry(out, entry);
      }
      if (shown === 0 && damaged.length === 0 && thread.rev > 0)
        await out.info(
          `There is no such entry ${from > to ? `from ${from} on` : `from ${from} to ${to}`}: the thread ends at ${thread.rev - 1}.`,
        );
      if (shown === 0 && thread.rev === 0) await out.info("The thread is empty.");
      const more = { ...(damaged.length > 0 && { damaged }), ...(waiting.length > 0 && { waiting }) };
      if (out.isJson) await out.json({ thread, entries, ...more });
      else if (options.kind === undefined && to === thread.rev - 1) await printWaiting(out, waiting);
      return damaged.length > 0 ? EXIT.failed : undefined;
    }),
});

function windowOf({ options }: CommandCall<typeof SHOW_OPTIONS>, rev: number): readonly [number, number] {
  const [from, end = rev - 1] = [wholeNumber(options.from, "--from"), wholeNumber(options.to, "--to")];
  if (from !== undefined && options.to !== undefined && from > end)
    throw badUsage(`--from ${from} comes after --to ${end}, so the range has no entry.`);
  const to = Math.min(end, rev - 1);
  const last = wholeNumber(options.last, "--last", 1) ?? DEFAULT_ENTRIES;
  return [from ?? (options.all === true ? 0 : Math.max(0, to - last + 1)), to];
}

/** An entry that cannot be read. */
interface DamagedEntry {
  readonly seq: number;
  readonly damage: string;
}

async function* entriesOf(
  client: StudioClient,
  id: string,
  from: number,
  to: number,
): AsyncGenerator<Entry | DamagedEntry, void> {
  for (let next = from; next <= to; next += ENTRIES_PER_READ)
    yield* entriesIn(client, id, { from: next, to: Math.min(to, next + ENTRIES_PER_READ - 1) });
}

/** Halves a range with a damaged entry, so that the good ones around it are shown. */
async function* entriesIn(
  client: StudioClient,
  id: string,
  range: { readonly from: number; readonly to: number },
): AsyncGenerator<Entry | DamagedEntry, void> {
  const { from, to } = range;
  const found = await client.get<EntryWindow>(pathOf(id, "entries"), range).catch((error: unknown) => {
    if (isDamage(error)) return error;
    throw error;
  });
  if (!isDamage(found)) return yield* found.entries;
  if (from === to) return yield { seq: from, damage: found.message };
  const middle = Math.floor((from + to) / 2);
  yield* entriesIn(client, id, { from, to: middle });
  yield* entriesIn(client, id, { from: middle + 1, to });
}

function isDamage(error: unknown): error is HeddleError {
  return HeddleError.isInstance(error) && error.code === "corrupt";
}

/** The number of entries, from a range that has none. */
async function revOf(client: StudioClient, id: string): Promise<number> {
  return (await client.get<EntryWindow>(pathOf(id, "entries"), { from: Number.MAX_SAFE_INTEGER })).rev;
}

async function followEntries(
  { io, out }: CommandCall<typeof SHOW_OPTIONS>,
  client: StudioClient,
  id: string,
  from: number,
  isWanted: (entry: Entry) => boolean,
): Promise<number> {
  const ended = new AbortController();
  let exit: number = EXIT.interrupted;
  const off = io.onInterrupt((signal) => {
    if (signal === "SIGTERM") exit = EXIT.terminated;
    ended.abort();
  });
  try {
    let next = from;
    while (!ended.signal.aborted) {
      const { body } = await client.open(pathOf(id, "events"), { from: next }, { signal: ended.signal });
      for await (const { event, data } of messagesIn(body ?? new ReadableStream())) {
        if (event !== "entry") continue;
        const { entry } = JSON.parse(data) as { readonly entry: Entry }; // Studio wrote this event
        next = entry.seq + 1;
        if (!isWanted(entry)) continue;
        if (out.isJson) await out.json(entry);
        else await printEntry(out, entry);
      }
    }
    return exit;
  } catch (error) {
    if (!ended.signal.aborted) throw error;
    return exit;
  } finally {
    off();
    ended.abort();
  }
}

type Commands = Awaited<ReturnType<LocalStudioClient["store"]["pending"]>>;

/** Prints the commands that wait in the inbox of the thread. They come after its last entry. */
async function printWaiting(out: Output, waiting: Commands): Promise<void> {
  for (const { id, type, body, postedAt } of waiting) {
    const facts = out.paint("dim", `${when(postedAt)} · ${id}`);
    await out.data(`${out.paint("cyan", "waiting")} ${out.paint("bold", type)} ${facts}`);
    await out.data(indented(body["content"] === undefined ? JSON.stringify(body) : contentText(body["content"])));
  }
}

async function printEntry(out: Output, entry: Entry): Promise<void> {
  const { seq, at: time, kind, payload, refs } = entry;
  const { role, name, content, toolCalls, ...rest } = payload as JsonObject; // every entry payload is a JSON object
  const what = [kind, role, name].filter((word) => typeof word === "string").join(" ");
  const call = callIn(entry)?.callId;
  const facts = [
    when(time),
    ...(call === undefined ? [] : [call]),
    ...(refs.requestId === undefined ? [] : [refs.requestId]),
  ];
  await out.data(`${out.paint("cyan", String(seq))} ${out.paint("bold", what)} ${out.paint("dim", facts.join(" · "))}`);
  const calls = Array.isArray(toolCalls) ? toolCalls.map((one) => `→ ${JSON.stringify(one)}`) : [];
  const text = content === undefined ? JSON.stringify(rest) : contentText(content);
  const body = [text, ...calls].filter(Boolean).join("\n");
  if (body !== "" && body !== "{}") await out.data(indented(body));
}
