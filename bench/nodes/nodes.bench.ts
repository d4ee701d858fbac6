// Calls for a thread that another process holds: `npm run bench -- nodes`, or with --help. Needs the built package.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { AgentHost, type AgentRequest } from "heddle";
import { chatTurn, resumeTurn, toUIMessages, type UIChatMessage } from "heddle/ai-sdk";
import { type PostgresDatabase, postgresDatabase } from "../log/postgres-database.ts";
import { Budgets, type Check } from "../support/budgets.ts";
import { describeMachine } from "../support/machine.ts";
import { type Options, readOptions } from "../support/options.ts";
import { Report } from "../support/report.ts";
import { Scratch } from "../support/scratch.ts";
import { median, percentile } from "../support/statistics.ts";
import type { Row, Table } from "../support/table.ts";
import { agent, storeOf } from "./agent.ts";
import { DatabaseCost } from "./database-cost.ts";
import { idle } from "./idle.ts";
import { workers } from "./workers.ts";

const HELP = `The nodes bench: calls of one process for a thread that another process holds.

  npm run bench -- nodes [options]
  node bench/nodes/nodes.bench.ts [options]      after npm run build

  --only=<ids>     of: sqlite, sqlite-workers, sqlite-idle, postgres, postgres-workers, postgres-idle, throughput
  --quick          5 calls of each kind instead of 100
  --json           one JSON object instead of text
  --check          exit code 1 when a budget is missed
  --help           this text`;

const AT_ONCE = 32;
const NODES = [1, 2, 3] as const;
const ASKING = fileURLToPath(new URL("asking-child.ts", import.meta.url));
const CHILD = fileURLToPath(new URL("holder-child.ts", import.meta.url));

/** A call of a process. `before`: the text that the other process was asked, which holds the thread. */
interface Call {
  readonly name: string;
  readonly before: string;
  readonly run: (host: AgentHost, threadId: string) => Promise<unknown>;
  /** Whether it needs the bus of the store. A file of SQLite carries no messages between processes. */
  readonly needsBus?: boolean;
}

const said = (text: string) => [{ id: "next", role: "user", parts: [{ type: "text", text }] }];

async function firstWord(request: AgentRequest): Promise<void> {
  for await (const _word of request.textStream) return;
}

const CALLS: readonly Call[] = [
  {
    name: "next message",
    before: "hi",
    run: async (host, threadId) => firstWord((await chatTurn(host, threadId, said("hi"))).request),
  },
  {
    name: "approve in a chat",
    before: "pay",
    run: async (host, threadId) => {
      const { request } = await chatTurn(host, threadId, toUIMessages(await host.thread(threadId)).map(approved));
      await request.result;
    },
  },
  {
    name: "reload in mid-answer",
    before: "talk",
    run: async (host, threadId) => {
      const turn = (await resumeTurn(host, threadId)) ?? fail("no request is open");
      for await (const _event of turn.request.events()) return;
    },
  },
  {
    name: "reload, to a streamed word",
    before: "talk",
    needsBus: true,
    run: async (host, threadId) => {
      const turn = (await resumeTurn(host, threadId)) ?? fail("no request is open");
      for await (const { kind } of turn.request.events()) if (kind === "llm_delta") return;
    },
  },
  {
    name: "stop",
    before: "talk",
    run: async (host, threadId) => (await host.cancel(threadId)) || fail("not cancelled"),
  },
  { name: "steer", before: "talk", run: (host, threadId) => host.steer(threadId, "hi") },
  { name: "follow up", before: "talk", run: (host, threadId) => host.followUp(threadId, "hi") },
  { name: "ask", before: "hi", run: async (host, threadId) => (await host.ask(threadId, "hi")).result },
];

/** A message of the page after its user has approved all calls. */
function approved(message: UIChatMessage): UIChatMessage {
  const parts = (message.parts ?? []).map((part) => {
    if (!("state" in part) || part.state !== "approval-requested") return part;
    return { ...part, state: "approval-responded" as const, approval: { ...part.approval, approved: true } };
  });
  return { ...message, parts };
}

function fail(message: string): never {
  throw new Error(message);
}

const options = readOptions(process.argv.slice(2), HELP);
if (options === undefined) process.exitCode = 2;
else if (options.help) console.log(HELP);
else await run(options);

async function run({ quick, only, dir, json, check }: Options): Promise<void> {
  const started = performance.now();
  const scratch = new Scratch(dir);
  const title = `heddle, calls for a thread of another process${quick ? ", quick: the numbers mean little" : ""}`;
  const report = new Report(await describeMachine(scratch.path), { title, json, check });
  const repeats = quick ? 5 : 100;
  const idleThreads = quick ? 1_000 : 10_000;
  const measured: Readonly<Record<string, () => Promise<Table>>> = {
    sqlite: () => measure("sqlite", "One file of SQLite", scratch.file("nodes.db"), repeats),
    "sqlite-workers": () => workers("sqlite", "One file of SQLite", scratch.file("workers.db")),
    postgres: async () => {
      const database = await postgresDatabase();
      try {
        return await measure("postgres", `Postgres ${database.version}`, database.url, repeats);
      } finally {
        await database.drop();
      }
    },
    "postgres-workers": async () => {
      const database = await postgresDatabase();
      try {
        return await workers("postgres", `Postgres ${database.version}`, database.url);
      } finally {
        await database.drop();
      }
    },
    "sqlite-idle": () => idle("sqlite", "One file of SQLite", scratch.file("idle.db"), idleThreads),
    "postgres-idle": async () => {
      const database = await postgresDatabase();
      try {
        return await idle("postgres", `Postgres ${database.version}`, database.url, idleThreads);
      } finally {
        await database.drop();
      }
    },
    throughput: async () => {
      const database = await postgresDatabase();
      try {
        return await throughput(database, quick ? 2 : 30);
      } finally {
        await database.drop();
      }
    },
  };
  for (const [id, table] of Object.entries(measured)) {
    if (only.length > 0 && !only.some((word) => id.startsWith(word))) continue;
    try {
      report.add(await table());
    } catch (error) {
      report.fail(id, error);
    }
  }
  report.finish((performance.now() - started) / 1000);
}

async function measure(id: string, title: string, url: string, repeats: number): Promise<Table> {
  const store = storeOf(url);
  await store.list(); // makes the tables
  const holder = fork(CHILD, [url]);
  await once(holder, "message");
  const host = AgentHost.create({ agent: agent(), store, idleMs: 0 });
  const rows: Row[] = [];
  const checks: Check[] = [];
  const budgets = new Budgets("nodes");
  try {
    for (const call of CALLS.filter(({ needsBus = false }) => !needsBus || id === "postgres")) {
      const times: number[] = [];
      for (let n = 0; n < repeats; n++) times.push(await timed(call, host, holder, `${call.name} ${n}`));
      const p95 = percentile(times, 0.95);
      rows.push({ name: call.name, values: { p50: median(times), p95, slowest: Math.max(...times) } });
      checks.push(budgets.atMost("callMilliseconds", p95, { what: `${call.name}, ${id}, p95`, unit: "ms" }));
    }
  } finally {
    await host.stop({ graceMs: 0 });
    await store.close();
    holder.disconnect();
    await once(holder, "exit");
  }
  return {
    id,
    title: `${title}: ${repeats} calls of each kind`,
    columns: [
      { key: "p50", label: "median", unit: "ms" },
      { key: "p95", label: "p95", unit: "ms" },
      { key: "slowest", label: "slowest", unit: "ms" },
    ],
    rows,
    checks,
    notes: [
      "Two processes and one database on one machine; the models answer at once, or stream words for ten seconds.",
      "A message counts to the first word of its answer, an ask and an approval to the result, the others to their answer.",
    ],
  };
}

interface Asked {
  readonly ms: number;
  readonly cpuMs: number;
}

/** Requests of 1, 2 and 3 processes on one Postgres. */
async function throughput({ url, version }: PostgresDatabase, asks: number): Promise<Table> {
  const store = storeOf(url);
  await store.list(); // makes the tables
  await store.close();
  const rows: Row[] = [];
  const cost = new DatabaseCost(url);
  for (const nodes of NODES) {
    const children = Array.from({ length: nodes }, (_, node) =>
      fork(ASKING, [url, `${nodes} ${node}`, `${asks}`, `${AT_ONCE}`]),
    );
    await Promise.all(children.map((child) => once(child, "message")));
    const before = await cost.read();
    const ends = children.map(async (child): Promise<Asked> => {
      child.send("go");
      const [asked] = (await once(child, "message")) as [Asked]; // what the child sends
      return asked;
    });
    const all = await Promise.all(ends);
    const after = await cost.read();
    const exits = children.map((child) => {
      child.send("end");
      return once(child, "exit");
    });
    await Promise.all(exits);
    const requests = nodes * AT_ONCE * asks;
    const seconds = Math.max(...all.map(({ ms }) => ms)) / 1000;
    const cpu = (1000 * all.reduce((sum, { cpuMs }) => sum + cpuMs, 0)) / requests;
    const server = ((after.cpuMs ?? Number.NaN) - (before.cpuMs ?? Number.NaN)) / requests;
    const values = {
      rate: requests / seconds,
      cpu,
      ...(!Number.isNaN(server) && { server: 1000 * server }),
      wal: (after.walBytes - before.walBytes) / requests,
      size: (after.bytes - before.bytes) / requests,
    };
    rows.push({ name: `${nodes} ${nodes === 1 ? "process" : "processes"}`, values });
  }
  await cost.end();
  return {
    id: "throughput",
    title: `Requests on one Postgres ${version}: ${AT_ONCE} at once in each process, ${asks} on each of its threads`,
    columns: [
      { key: "rate", label: "requests", unit: "per second" },
      { key: "cpu", label: "CPU of the process for one", unit: "us" },
      { key: "server", label: "CPU of Postgres", unit: "us" },
      { key: "wal", label: "its log", unit: "bytes" },
      { key: "size", label: "its files", unit: "bytes" },
    ],
    rows,
    notes: [
      "The model answers at once with one word, so a request is its two appends and the work around them.",
      "The processes and Postgres share the cores of one machine.",
    ],
  };
}

/** Each call has a thread of its own. A request that still runs afterwards is cancelled, outside of the time. */
async function timed({ before, run }: Call, host: AgentHost, holder: ChildProcess, threadId: string): Promise<number> {
  holder.send({ threadId, text: before });
  await once(holder, "message");
  const started = performance.now();
  await run(host, threadId);
  const ms = performance.now() - started;
  await host.cancel(threadId, undefined, undefined, { pending: "drop" });
  return ms;
}
