import "./thread/node-version.ts";

export type { PostgresDatabaseOptions, PostgresMode, PostgresStoreOptions } from "./stores/postgres/options.ts";
export { openPostgresStore, postgresDatabase, postgresStore } from "./stores/postgres/postgres-store.ts";
