import type { TestProject } from "vitest/node";
import { type PostgresServer, startPostgres } from "./start-postgres.ts";

declare module "vitest" {
  interface ProvidedContext {
    readonly postgresUrl: string;
  }
}

type SharedServer = { readonly starting: Promise<PostgresServer>; users: number };

// Each vitest project evaluates this module anew in the same process, so the count cannot live in the module.
const key = Symbol.for("heddle.tests.postgres");
const shared: typeof globalThis & { [key]?: SharedServer } = globalThis;

/** One server for the whole run, for `inject("postgresUrl")`, however many projects name this file. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  shared[key] ??= { starting: startAndTell(), users: 0 };
  const server = shared[key];
  server.users += 1;
  project.provide("postgresUrl", (await server.starting).url);
  return () => leave(server);
}

async function leave(server: SharedServer): Promise<void> {
  server.users -= 1;
  if (server.users > 0) return;
  delete shared[key];
  const postgres = await server.starting;
  if (postgres.own) await postgres.stop();
}

async function startAndTell(): Promise<PostgresServer> {
  const server = await startPostgres();
  process.stderr.write(`Postgres for the tests: ${server.version} from ${server.source}\n`);
  return server;
}
