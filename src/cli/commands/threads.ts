import type { ThreadRow, ThreadsPage } from "../answers.ts";
import { defineCommand } from "../command.ts";
import { PLACE } from "../options.ts";
import { oneOf, timeGiven, wholeNumber } from "../parse.ts";
import { at } from "../place.ts";
import { printTable } from "../print-table.ts";
import { when } from "../text.ts";

const USUAL = 20;
const PAGE = 200;
const STATUSES = ["running", "waiting", "completed", "failed", "cancelled"] as const;
const COLUMNS = ["thread", "status", "entries", "changed (UTC)", "title"];

export const threads = defineCommand({
  args: "",
  options: {
    search: { type: "string", value: "text", help: "search in ids, titles and messages" },
    status: { type: "string", value: "status", help: STATUSES.join(", ") },
    agent: { type: "string", value: "name", help: "only threads of this agent" },
    since: {
      type: "string",
      value: "time",
      help: "only from this time on: 2026-01-31, or milliseconds since 1970; the time is that of --order",
    },
    until: { type: "string", value: "time", help: "only up to this time" },
    order: { type: "string", value: "order", help: "updated (default) or created, newest first" },
    limit: { type: "string", short: "n", value: "number", help: `how many threads; default ${USUAL}` },
    ...PLACE,
  },
  examples: [
    { run: "heddle threads", does: "list the newest threads" },
    { run: "heddle threads --search weather --since 2020-01-01 --limit 5", does: "list threads that mention a word" },
    { run: "heddle threads --status waiting --json", does: "list threads that wait for a decision, as JSON" },
  ],
  run: (call) =>
    at(call, {}, async (place) => {
      const { options, out } = call;
      const { search, agent } = options;
      const status = options.status === undefined ? undefined : oneOf(STATUSES, options.status, "--status");
      const [since, until] = [timeGiven(options.since, "--since"), timeGiven(options.until, "--until")];
      const limit = wholeNumber(options.limit, "--limit", 1) ?? USUAL;
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
          limit: Math.min(PAGE, limit - found.length),
        };
        const page: ThreadsPage = await place.get("/api/threads", query);
        found.push(...page.threads);
        cursor = page.cursor;
      } while (cursor !== undefined && found.length < limit);
      const rows = found.slice(0, limit);
      if (out.isJson) await out.json({ threads: rows, ...(cursor !== undefined && { more: true }) });
      else await printTable(out, COLUMNS, rows.map(cells));
      const isNarrowed = [search, status, agent, since, until].some((one) => one !== undefined);
      if (rows.length === 0)
        await out.say(isNarrowed ? "No thread matches." : 'No threads. Start one: heddle ask "What is 6 * 7?"');
      else if (cursor !== undefined && !out.isJson)
        await out.say(out.talk("dim", "There are more. Use --limit to see them."));
      return undefined;
    }),
});

function cells({ id, status, rev, updatedAt, title, parentThreadId, forkSeq }: ThreadRow): readonly string[] {
  const fork = parentThreadId === undefined ? "" : ` (fork at ${forkSeq})`;
  return [id, status ?? "-", String(rev), when(updatedAt), `${title}${title.endsWith("(fork)") ? "" : fork}`];
}
