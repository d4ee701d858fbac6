import "./thread/node-version.ts";

export type { PostgresDatabaseOptions, PostgresMode, PostgresStoreOptions } from "./stores/postgres/options.ts";
export {
  openPostgresStore,
  type PostgresDatabase,
  postgresDatabase,
  postgresStore,
} from "./stores/postgres/postgres-store.ts";
