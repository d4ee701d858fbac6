import { storeContract } from "heddle/testing";
import { describe, inject, test } from "vitest";
import { spawnWorker } from "../../support/spawn-worker.ts";
import { openDatabase, openStore, schema } from "./open.ts";
import { warmStores } from "./warm-stores.ts";

/** Groups about connections and processes. In the soak test each store of every group connects by itself. */
const OWN_CONNECTIONS = new Set(["concurrency", "tenant", "life", "processes", "bus", "lease", "save"]);

const spawn = spawnWorker(`${inject("postgresUrl")}#${schema}`);
const others = { openDatabase, spawn, timeoutMs: 300_000 };
const warm = storeContract({ open: warmStores(), ...others });

describe("the Postgres store keeps the contract", () => {
  for (const [index, cold] of storeContract({ open: openStore, ...others }).entries()) {
    const { name, run, skip } = OWN_CONNECTIONS.has(cold.group) ? cold : (warm[index] ?? cold);
    test(name, { skip: skip !== undefined }, run);
  }
});
