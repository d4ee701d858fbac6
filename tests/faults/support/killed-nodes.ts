import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { ThreadDatabase } from "heddle/store";
import postgres from "postgres";
import { expect, inject, onTestFinished } from "vitest";
import { ask } from "../../stores/sqlite/support/sql.ts";
import { type Child, startChild } from "../../support/child.ts";
import { openDatabaseAt } from "../../support/open-at.ts";
import { report } from "../../support/report.ts";
import { type Random, seeded } from "../../support/seeded.ts";
import { tempFile } from "../../support/temp-folder.ts";
import { expectNothingLeft, expectNothingUnused, type Query } from "./leftovers.ts";
import { expectTrueHistory, type NodeHistory } from "./node-history.ts";
import { answerCommands, BASES, type NodeLine, type NodeStep, perform } from "./node-step.ts";
import type { NodeJob } from "./store-node.ts";

interface Killing {
  /** Of a database that this run has for itself. */
  readonly url: string;
  /** A query of all tables, as rows of columns. */
  readonly query: Query;
  readonly kills: number;
  readonly round?: number;
}

/** As `killNodes`, in a file of its own. */
export async function killNodesOfSqlite(options: Pick<Killing, "kills" | "round">): Promise<void> {
  const path = tempFile();
  await killNodes({ ...options, url: `sqlite:${path}`, query: async (sql) => ask(path, sql) });
}

/** As `killNodes`, in a schema of its own. */
export async function killNodesOfPostgres(options: Pick<Killing, "kills" | "round">): Promise<void> {
  const server = inject("postgresUrl");
  const schema = `test_${randomUUID().replaceAll("-", "")}`;
  const sql = postgres(server, { max: 1, onnotice: () => {}, connection: { search_path: schema } });
  const query: Query = async (text) => (await sql.unsafe(text).values()).map((row) => [...row]);
  try {
    await killNodes({ ...options, url: `${server}#${schema}`, query });
  } finally {
    await sql`drop schema ${sql(schema)} cascade`;
    await sql.end({ timeout: 1 });
  }
}

/** Kills nodes that do everything a store offers, one at a time while the others go on. Then nothing is lost, doubled or left. */
async function killNodes({ url, query, kills, round = 0 }: Killing): Promise<void> {
  const random = seeded(round);
  const tenant = "default";
  const run = `r${randomUUID().slice(0, 8)}`;
  const database = openDatabaseAt(url, { keepBlobsMs: 0 });
  onTestFinished(() => database.close());
  const store = database.tenant(tenant);
  for (const base of BASES) await store.append(base, { id: base });
  const nodes = ["a", "b"].map((name) => new Node({ url, tenant, run, name, life: 0, seed: 0 }, random));
  await Promise.all(nodes.map((node) => node.start()));
  for (let killed = 0; killed < kills; killed++) {
    const node = nodes[killed % nodes.length];
    await node?.progress(20 + random.below(80));
    await sleep(random.below(8)); // anywhere between two acknowledgements; nothing rests on how long it is
    await node?.kill();
    if (killed + nodes.length < kills) await node?.start();
  }
  await Promise.all(nodes.map((node) => node.kill()));
  for (const node of nodes) await node.finish((step) => perform(store, step));
  const history: NodeHistory = { lines: nodes.flatMap(({ lines }) => lines), run };
  await answerTheRest(database, history);
  await expectTrueHistory(store, query, history);
  await expectNothingUnused(query);
  const steps = history.lines.filter(({ type }) => type === "done").length;
  const answered = history.lines.filter(({ type }) => type === "answered").length;
  await expectNothingLeft(store, query, history);
  report({ seed: random.seed, kills, steps, answered });
  expect(answered).toBeGreaterThan(0);
}

/** A node that is killed and started again, with all that it has written in its lives. */
class Node {
  readonly lines: NodeLine[] = [];
  readonly #job: NodeJob;
  readonly #random: Random;
  #life = 0;
  #child: Child | undefined;

  constructor(job: NodeJob, random: Random) {
    this.#job = job;
    this.#random = random;
  }

  async start(): Promise<void> {
    const life = this.#life++;
    const job = { ...this.#job, life, seed: this.#random.below(1_000_000_000), retried: this.#interrupted() };
    this.#child = startChild(new URL("./store-node.ts", import.meta.url), JSON.stringify(job));
    await this.#child.wrote(1);
  }

  /** Resolves when it has written so many more lines. */
  async progress(count: number): Promise<void> {
    const { lines = [] } = this.#child ?? {};
    await this.#child?.wrote(lines.length + count);
  }

  async kill(): Promise<void> {
    await this.#child?.kill();
    this.lines.push(...(this.#child?.lines ?? []).map((line) => JSON.parse(line) as NodeLine)); // the node writes only these
    this.#child = undefined;
  }

  /** Retries the step that the last kill interrupted. */
  async finish(retry: (step: NodeStep) => Promise<Extract<NodeLine, { type: "done" }>["result"]>): Promise<void> {
    const step = this.#interrupted();
    if (step !== undefined) this.lines.push({ type: "done", step, result: await retry(step) });
  }

  /** Undefined when no step was interrupted, or when a retry could make a thread again that was deleted meanwhile. */
  #interrupted(): NodeStep | undefined {
    const last = this.lines.findLast(({ type }) => type === "began" || type === "done");
    if (last?.type !== "began") return undefined;
    const isMade = last.step.type === "fork" || (last.step.type === "append" && last.step.create);
    return isMade ? undefined : last.step;
  }
}

/** Takes the threads of the killed nodes when their leases are over, until no command waits. */
async function answerTheRest(database: ThreadDatabase, { lines, run }: NodeHistory): Promise<void> {
  const tenant = "default";
  const store = database.tenant(tenant);
  const posted = lines.flatMap((line) =>
    line.type === "began" && line.step.type === "post" ? [line.step.thread] : [],
  );
  const lease = await database.leases.start({ node: `${run}_rest`, ttlMs: 600_000 });
  const tell = (line: NodeLine) => void (lines as NodeLine[]).push(line); // it is the list of this run
  await expect
    .poll(async () => {
      for (const thread of await database.runnable.take({ lease, agents: [run], limit: 100 }))
        await answerCommands(database, thread, { by: "rest", life: 0 }, tell);
      const pending = await Promise.all([...new Set(posted)].map((thread) => store.pending(thread)));
      return pending.flat();
    })
    .toEqual([]);
}
