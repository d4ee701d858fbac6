import { type BorrowedServer, borrowServer } from "./borrowed-server.ts";
import { type OwnServer, type OwnServerSource, startOwnServer } from "./own-server.ts";

export type { OwnServer };
export type PostgresServer = BorrowedServer | OwnServer;

export type PostgresOptions = {
  /** Start a server of our own even when DATABASE_URL is set: for tests that kill it. */
  readonly own?: boolean;
  /** Where the binaries of our own server come from; naming one implies `own`. HEDDLE_POSTGRES_SOURCE does the same. */
  readonly source?: OwnServerSource;
};

/**
 * A real Postgres server for tests. It throws when none can be had: a store test never skips in silence.
 *
 * @example
 * const server = await startPostgres({ own: true });
 * const sql = postgres(server.url);
 * await server.kill(); // as a power cut
 * await server.restart(); // crash recovery; same url
 * await server.stop(); // nothing is left behind
 */
export async function startPostgres(options: PostgresOptions & { readonly own: true }): Promise<OwnServer>;
export async function startPostgres(options?: PostgresOptions): Promise<PostgresServer>;
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const source = options.source ?? sourceFromEnvironment();
  const { DATABASE_URL } = process.env;
  if (DATABASE_URL && !options.own && !source) return borrowServer(DATABASE_URL);
  return startOwnServer(source);
}

function sourceFromEnvironment(): OwnServerSource | undefined {
  const { HEDDLE_POSTGRES_SOURCE: source } = process.env;
  if (!source) return undefined;
  if (source === "debian" || source === "npm") return source;
  throw new Error(`HEDDLE_POSTGRES_SOURCE is "${source}"; it can be "debian", "npm" or unset`);
}
