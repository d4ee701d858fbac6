import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { startPostgres } from "../../tests/support/postgres/start-postgres.ts";

/** A database for this run alone, on the server of DATABASE_URL or on one of our own. */
export interface PostgresDatabase {
  readonly url: string;
  readonly version: string;
  /** As the server says it. */
  readonly synchronousCommit: string;
  drop(): Promise<void>;
}

/** Throws when no server can be had. */
export async function postgresDatabase(): Promise<PostgresDatabase> {
  const server = await startPostgres();
  const name = `heddle_bench_${randomBytes(6).toString("hex")}`;
  const admin = postgres(server.url, { max: 1, onnotice: () => {} });
  const stop = async (): Promise<void> => {
    await admin.end({ timeout: 5 });
    if (server.own) await server.stop();
  };
  try {
    await admin`CREATE DATABASE ${admin(name)}`;
    const [settings] = await admin<{ synchronous_commit: string }[]>`SHOW synchronous_commit`;
    const url = new URL(server.url);
    url.pathname = `/${name}`;
    return {
      url: url.href,
      version: server.version,
      synchronousCommit: settings?.synchronous_commit ?? "unknown",
      async drop() {
        await admin`DROP DATABASE ${admin(name)} WITH (FORCE)`;
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
