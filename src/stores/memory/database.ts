import type { Change, ClaimRecord, StoredRow, ThreadHead } from "../driver.ts";

interface StoredThread {
  head: ThreadHead;
  readonly rows: StoredRow[];
  readonly seqById: Map<string, number>;
}

/** What one tenant has in memory. */
export class MemoryTenant {
  readonly threads = new Map<string, StoredThread>();
  readonly claims = new Map<string, ClaimRecord>();
  readonly records = new Map<string, string | Uint8Array>();
  /** All rows in commit order, those of removed threads too, so that cursors stay good. */
  readonly log: Omit<Change, "cursor">[] = [];
}

/** Threads that live as long as the process; pass one to several stores to let them share it. */
export class MemoryDatabase {
  readonly #tenants = new Map<string, MemoryTenant>();

  tenant(name: string): MemoryTenant {
    const tenant = this.#tenants.get(name) ?? new MemoryTenant();
    this.#tenants.set(name, tenant);
    return tenant;
  }
}
