import type { OpenStoreOptions, ThreadStore } from "heddle";
import type { ThreadDatabase } from "heddle/store";
import { openDatabase, openStore } from "./open.ts";

/**
 * Opens stores that need not connect: connections take more time than most cases. The first store of a tenant is in one
 * database, its second in another, so each has connections of its own. One with further options connects by itself.
 */
export function warmStores(url?: string): (options?: OpenStoreOptions) => ThreadStore {
  const databases: ThreadDatabase[] = [];
  const counts = new Map<string, number>();
  return ({ tenant = "default", pollMs, ...others } = {}) => {
    if (Object.keys(others).length > 0) return openStore({ tenant, ...(pollMs && { pollMs }), ...others }, url);
    const index = counts.get(tenant) ?? 0;
    counts.set(tenant, index + 1);
    databases[index] ??= openDatabase({ ...(pollMs && { pollMs }) }, url);
    return databases[index].tenant(tenant);
  };
}
