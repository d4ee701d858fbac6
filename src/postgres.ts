import "./thread/node-version.ts";

export type { PostgresMode, PostgresStoreOptions } from "./stores/postgres/options.ts";
export { openPostgresStore, postgresStore } from "./stores/postgres/postgres-store.ts";
