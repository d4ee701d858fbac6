import { randomUUID } from "node:crypto";
import { copyFileSync, rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { note } from "heddle/testing";
import postgres from "postgres";
import { expect, inject, onTestFinished } from "vitest";
import { startChild } from "../../support/child.ts";
import { writeEarlierFile, writeEarlierSchema } from "../../support/earlier-database.ts";
import { openAt } from "../../support/open-at.ts";
import { seeded } from "../../support/seeded.ts";
import { tempFile } from "../../support/temp-folder.ts";

interface Kills {
  readonly threads: number;
  readonly entriesPerThread: number;
  /** How many upgrades are killed before their process has opened the database. */
  readonly kills: number;
  readonly round?: number;
}

interface Database {
  readonly url: string;
  /** Called before a kill, for a server that would complete the upgrade of a killed process. */
  readonly interrupt?: () => Promise<void>;
  /** Makes the database one of 0.1 again. Called after an upgrade that was complete before the kill. */
  readonly restore: () => Promise<void>;
}

/** Kills processes that upgrade a SQLite file of 0.1. */
export async function killSqliteUpgrades(size: Kills): Promise<void> {
  const [earlier, path] = [tempFile(), tempFile()];
  writeEarlierFile(earlier, size);
  const restore = async () => {
    for (const suffix of ["-wal", "-shm"]) rmSync(path + suffix, { force: true });
    copyFileSync(earlier, path);
  };
  return killUpgrades({ url: `sqlite:${path}`, restore }, size);
}

/** Kills processes that upgrade a Postgres schema of 0.1, and their sessions on the server. */
export async function killPostgresUpgrades(size: Kills): Promise<void> {
  const name = randomUUID().replaceAll("-", "");
  const schema = `test_upgrade_${name}`;
  const sql = postgres(inject("postgresUrl"), { max: 1, onnotice: () => {} });
  const drop = () => sql`drop schema if exists ${sql(schema)} cascade`;
  onTestFinished(async () => {
    await drop();
    await sql.end({ timeout: 1 });
  });
  const restore = async () => {
    await drop();
    await writeEarlierSchema(sql, schema, size);
  };
  const interrupt = async () => {
    await sql`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'
      and (classid::bigint << 32 | objid::bigint) = hashtextextended(${`heddle/migrate/${schema}`}, 0)`;
  };
  return killUpgrades({ url: `${inject("postgresUrl")}#${schema}`, restore, interrupt }, size);
}

const SCRIPT = new URL("./upgrade-process.ts", import.meta.url);

/** Kills them at any moment, then opens the database. Nothing is lost, and all hashes are as before. */
async function killUpgrades({ url, restore, interrupt }: Database, size: Kills): Promise<void> {
  const { threads, entriesPerThread, kills, round = 0 } = size;
  await restore();
  const random = seeded(round);
  let reports = 6;
  let longestMs = 1;
  for (let interrupted = 0; interrupted < kills; ) {
    const upgrading = startChild(SCRIPT, url);
    await upgrading.wrote(1 + random.below(reports));
    const since = performance.now();
    if (random.oneIn(2)) await Promise.race([sleep(random.below(Math.ceil(longestMs))), upgrading.wrote(100)]);
    longestMs = Math.max(longestMs, performance.now() - since);
    await interrupt?.();
    await upgrading.kill().catch(() => {}); // its lost session is its error
    if (upgrading.lines.length === 0) await upgrading.ended; // it failed by itself
    if (!upgrading.lines.includes("open")) {
      interrupted++;
      continue;
    }
    // It was faster, so the next kill comes earlier. The last report and the line "open" come at once.
    if (upgrading.lines.length > 1) reports = Math.max(1, Math.min(reports, upgrading.lines.length - 2));
    longestMs /= 2;
    await restore();
  }
  const store = await openAt(url);
  for (let thread = 0; thread < threads; thread++) {
    const id = `earlier_${thread}`;
    expect(await store.verify(id), id).toMatchObject({ ok: true, entries: entriesPerThread });
    const requestId = `${id}-r0`;
    expect(await Array.fromAsync(store.read(id, { refs: { requestId } })), id).toHaveLength(5);
    expect((await store.append(id, note())).rev, id).toBe(entriesPerThread + 1);
  }
  await store.close();
}
