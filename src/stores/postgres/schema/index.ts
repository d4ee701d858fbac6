import { V1 } from "./v1.ts";

/** What leads from each version to the next, the first from nothing. */
export const MIGRATIONS: readonly string[] = [V1];
