import type { Change, ClaimRecord, StoredRow, ThreadHead } from "../driver.ts";

interface StoredThread {
  head: ThreadHead;
  readonly rows: StoredRow[];
  readonly seqById: Map<string, number>;
}

/** The data of one tenant in memory. */
export class MemoryTenant {
  readonly threads = new Map<string, StoredThread>();
  readonly claims = new Map<string, ClaimRecord>();
  readonly records = new Map<string, string | Uint8Array>();
  /** All rows in commit order, including rows of removed threads, so that feed cursors stay valid. */
  readonly log: Omit<Change, "cursor">[] = [];
}

/** Keeps threads in the memory of this process. Pass one database to several stores to share it. */
export class MemoryDatabase {
  readonly #tenants = new Map<string, MemoryTenant>();

  tenant(name: string): MemoryTenant {
    const tenant = this.#tenants.get(name) ?? new MemoryTenant();
    this.#tenants.set(name, tenant);
    return tenant;
  }
}
