import type { OpenStoreOptions } from "heddle";
import {
  checkName,
  defineDatabase,
  defineStore,
  MemoryDatabase,
  type StoreOptions,
  type ThreadDatabase,
} from "heddle/store";
import { storeContract } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { memoryDatabaseDriver } from "../../src/stores/memory-database.ts";
import { type MemoryTenant, memoryDriver } from "../../src/stores/memory-store.ts";
import { blobs } from "./mutants/blobs.ts";
import { counting } from "./mutants/counting.ts";
import { hinting } from "./mutants/hinting.ts";
import { inboxes } from "./mutants/inboxes.ts";
import { keeping } from "./mutants/keeping.ts";
import type { Mutation } from "./mutants/mutation.ts";
import { reading } from "./mutants/reading.ts";
import { type DatabaseMutation, scheduling } from "./mutants/scheduling.ts";
import { writing } from "./mutants/writing.ts";

const mutants = Object.entries({ ...writing, ...reading, ...keeping, ...inboxes, ...blobs, ...counting, ...hinting });

describe.each(mutants)("the group %s finds a driver that", (group, mutations) => {
  test.each(Object.entries(mutations))("%s", async (_, mutation) => {
    expect(await brokenPromises(openMutant(mutation), group)).not.toEqual([]);
  });
});

describe("the group tenant finds a driver that", () => {
  test.each(["threads", "claims", "records", "inboxes", "usage"] as const)(
    "shares %s between tenants",
    async (part) => {
      const database = new MemoryDatabase();
      const shared = database.tenant("all");
      const tenantOf = (name: string) => ({ ...database.tenant(name), [part]: shared[part] });
      expect(await brokenPromises(open(tenantOf, soundly), "tenant")).not.toEqual([]);
    },
  );

  test("feeds the entries of all tenants", async () => {
    const database = new MemoryDatabase();
    const { log } = database.tenant("all");
    const tenantOf = (name: string) => ({ ...database.tenant(name), log });
    const mutation: Mutation = () => ({
      changes: async (after, limit) =>
        log
          .map((change, place) => ({ ...change, cursor: String(place) }))
          .slice(Number(after ?? -1) + 1)
          .slice(0, limit),
    });
    expect(await brokenPromises(open(tenantOf, mutation), "tenant")).not.toEqual([]);
  });
});

describe("the group append finds a driver that", () => {
  test("keeps everything to one handle", async () => {
    const tenantOf = () => new MemoryDatabase().tenant("own");
    expect(await brokenPromises(open(tenantOf, soundly), "append")).not.toEqual([]);
  });
});

describe.each(Object.entries(scheduling))("the group %s finds a driver of a database that", (group, mutations) => {
  test.each(Object.entries(mutations))("%s", async (_, mutation) => {
    const data = new MemoryDatabase();
    const openDatabase = databaseMutant(mutation, data);
    expect(await brokenPromises(openMutant(soundly, data), group, openDatabase)).not.toEqual([]);
  });
});

test("the suite says nothing against a sound driver", async () => {
  const data = new MemoryDatabase();
  const openDatabase = databaseMutant(() => ({}), data);
  expect(await brokenPromises(openMutant(soundly, data), undefined, openDatabase)).toEqual([]);
});

function databaseMutant(
  mutation: DatabaseMutation,
  database: MemoryDatabase,
): (options: StoreOptions) => ThreadDatabase {
  const sound = memoryDatabaseDriver(database, Date.now);
  return (options) => defineDatabase({ ...sound, ...mutation(sound, database) }, options);
}

type Open = (options: OpenStoreOptions) => ReturnType<typeof defineStore>;

function soundly(): ReturnType<Mutation> {
  return {};
}

function openMutant(mutation: Mutation, database = new MemoryDatabase()): Open {
  return open((name) => database.tenant(name), mutation);
}

function open(tenantOf: (name: string) => MemoryTenant, mutation: Mutation): Open {
  return ({ tenant = "default", ...options }) => {
    checkName("tenant", tenant);
    const data = tenantOf(tenant);
    const sound = memoryDriver(data, Date.now);
    return defineStore({ ...sound, ...mutation(sound, data) }, options);
  };
}

/** The names of the cases that fail; of a group only the first that does. */
async function brokenPromises(
  open: Open,
  only?: string,
  openDatabase?: (options: StoreOptions) => ThreadDatabase,
): Promise<string[]> {
  const broken: string[] = [];
  for (const { name, group, run, skip } of storeContract({
    open,
    openDatabase,
    timeoutMs: only === undefined ? 10_000 : 1_000,
  })) {
    if (skip !== undefined || (only !== undefined && group !== only)) continue;
    await run().catch(() => broken.push(name));
    if (only !== undefined && broken.length > 0) break;
  }
  return broken;
}
