import { V1 } from "./v1.ts";

/** The migrations in order. The first one creates the tables. */
export const MIGRATIONS: readonly string[] = [V1];
