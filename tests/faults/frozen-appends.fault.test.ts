import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { HeddleError } from "heddle";
import { sqliteDatabase } from "heddle/sqlite";
import type { ThreadDatabase } from "heddle/store";
import postgres from "postgres";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { plainConnect } from "../stores/sqlite/support/recording.ts";
import { type Child, startChild } from "../support/child.ts";
import { openDatabaseAt } from "../support/open-at.ts";
import { until } from "../support/postgres/until.ts";
import { tempFile } from "../support/temp-folder.ts";
import type { LeasedJob } from "./support/leased-writer.ts";

const tenant = "acme";
const threadId = "t";

describe("SQLite: a process that is frozen with an append in flight", () => {
  test("is refused after a take-over, when it was frozen before the append had the file", async () => {
    const path = tempFile();
    const { database, frozen } = await start(sqliteDatabase(path), { url: `sqlite:${path}` });
    const other = plainConnect()(path);
    other.exec("BEGIN IMMEDIATE");
    const answer = append(frozen);
    await untilAt(frozen, "BEGIN IMMEDIATE");
    await frozen.freeze();
    other.exec("COMMIT");
    other.close();
    await takeOver(database);
    frozen.send("SIGCONT");
    expect(await answer).toEqual({ code: "stale_holder" });
    await expectEntries(database, ["first", "second", "heir"]);
  });

  test("commits before the take-over, when it was frozen between BEGIN and COMMIT", async () => {
    const [path, commitsAfter] = [tempFile(), tempFile("commit")];
    const { database, frozen } = await start(sqliteDatabase(path), { url: `sqlite:${path}`, commitsAfter });
    const answer = append(frozen);
    await untilAt(frozen, "COMMIT");
    await frozen.freeze();
    writeFileSync(commitsAfter, "");
    await expect(claim(database)).rejects.toMatchObject({ code: "store_busy" });
    frozen.send("SIGCONT");
    expect(await answer).toEqual({ rev: 3, replayed: false });
    await takeOver(database);
    expect(await append(frozen)).toEqual({ rev: 3, replayed: true });
    await expectEntries(database, ["first", "second", "mine", "heir"]);
  });
});

describe("Postgres: a process that is frozen with an append in flight", () => {
  test("is refused after a take-over, when it was frozen between BEGIN and COMMIT", async () => {
    const { database, frozen, sql, schema } = await startOnPostgres();
    const { release, untilBlocked } = await block(sql, (locked) => {
      return locked`select pg_advisory_xact_lock(hashtextextended(${`${schema}/${tenant}/${threadId}`}, 0))`;
    });
    const answer = append(frozen);
    await untilBlocked();
    await frozen.freeze();
    await release();
    await takeOver(database); // waits until the server ends the idle transaction
    frozen.send("SIGCONT");
    expect(["stale_holder", "store_unreachable"]).toContain((await answer).code);
    expect(await append(frozen)).toEqual({ code: "stale_holder" });
    await expectEntries(database, ["first", "second", "heir"]);
  });

  test("has committed before the take-over, when its COMMIT was sent", async () => {
    const { database, frozen, sql, schema } = await startOnPostgres();
    const { release, untilBlocked } = await block(sql, (locked) => {
      return locked`lock table ${locked(`${schema}.entries`)} in exclusive mode`;
    });
    const answer = append(frozen);
    await untilBlocked();
    frozen.send("SIGUSR2");
    await untilAt(frozen, "everything is sent");
    await frozen.freeze();
    await release();
    await takeOver(database);
    frozen.send("SIGCONT");
    expect(await answer).toEqual({ rev: 3, replayed: false });
    expect(await append(frozen)).toEqual({ rev: 3, replayed: true });
    await expectEntries(database, ["first", "second", "mine", "heir"]);
  });
});

const TTL_MS = 300;

interface Frozen {
  readonly database: ThreadDatabase;
  readonly frozen: Child;
}

/** Starts a process that holds the thread. */
async function start(database: ThreadDatabase, job: Pick<LeasedJob, "url" | "commitsAfter">): Promise<Frozen> {
  onTestFinished(() => database.close());
  const whole: LeasedJob = { tenant, threadId, ttlMs: TTL_MS, ...job };
  const frozen = startChild(new URL("./support/leased-writer.ts", import.meta.url), JSON.stringify(whole));
  await frozen.wrote(1);
  expect(frozen.lines).toEqual([JSON.stringify({ epoch: 1 })]);
  return { database, frozen };
}

async function startOnPostgres() {
  const schema = `frozen_${randomUUID().replaceAll("-", "")}`;
  const url = inject("postgresUrl");
  const sql = postgres(url, { max: 2, onnotice: () => {} });
  onTestFinished(async () => {
    await sql`drop schema ${sql(schema)} cascade`;
    await sql.end({ timeout: 1 });
  });
  return { ...(await start(openDatabaseAt(`${url}#${schema}`), { url: `${url}#${schema}` })), sql, schema };
}

/** Locks what an append needs. */
async function block(sql: postgres.Sql, lock: (locked: postgres.ReservedSql) => PromiseLike<unknown>) {
  const locked = await sql.reserve();
  await locked`begin`;
  await lock(locked);
  const [own] = await locked<{ pid: number }[]>`select pg_backend_pid() as pid`;
  const pid = own?.pid ?? 0;
  return {
    async release() {
      await locked`commit`;
      locked.release();
    },
    untilBlocked: () =>
      until("the append waits for the lock", async () => {
        return (await sql`select from pg_stat_activity where ${pid} = any (pg_blocking_pids(pid))`).length === 1;
      }),
  };
}

interface Answer {
  readonly rev?: number;
  readonly replayed?: boolean;
  readonly code?: string;
  readonly at?: string;
}

/** Tells the process to append its entry. Resolves with the answer of the store. */
async function append(child: Child): Promise<Answer> {
  const before = child.lines.length;
  const isOver = () => linesOf(child, before).find(({ at }) => at === undefined);
  child.tell("append");
  await until("the process has an answer", () => isOver() !== undefined);
  return isOver() ?? {};
}

function untilAt(child: Child, statement: string): Promise<void> {
  return until(`the process is at ${statement}`, () => linesOf(child, 1).some(({ at }) => at === statement));
}

function linesOf(child: Child, start: number): readonly Answer[] {
  return child.lines.slice(start).map((line) => JSON.parse(line) as Answer);
}

async function claim(database: ThreadDatabase): Promise<number> {
  const lease = await database.leases.start({ node: "heir", ttlMs: 600_000 });
  return (await database.tenant(tenant).claim(threadId, { holder: "heir", lease })).epoch;
}

/** Takes the thread when the lease of its holder is over, and appends. */
async function takeOver(database: ThreadDatabase): Promise<void> {
  let epoch = 0;
  await until("the lease is over", async () => {
    epoch = await claim(database).catch((error: unknown) => {
      if (!HeddleError.isInstance(error) || !(error.retryable || error.code === "thread_held")) throw error;
      return 0;
    });
    return epoch > 0;
  });
  expect(epoch).toBe(2);
  await database.tenant(tenant).append(threadId, { id: "heir", kind: "note" }, { epoch });
}

async function expectEntries(database: ThreadDatabase, ids: readonly string[]): Promise<void> {
  const store = database.tenant(tenant);
  expect((await store.load(threadId))?.toArray().map(({ id }) => id)).toEqual(ids);
  expect(await store.verify(threadId)).toMatchObject({ ok: true });
}
