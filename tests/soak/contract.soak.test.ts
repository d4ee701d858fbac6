import { storeContract } from "heddle/testing";
import { describe, inject, test } from "vitest";
import { openDatabase, openStore, schema } from "../stores/postgres/open.ts";
import { spawnWorker } from "../support/spawn-worker.ts";

const spawn = spawnWorker(`${inject("postgresUrl")}#${schema}`);

describe("the Postgres store keeps the contract, with connections of its own for each handle", () => {
  for (const { name, run, skip } of storeContract({ open: openStore, openDatabase, spawn, timeoutMs: 300_000 })) {
    test(name, { skip: skip !== undefined }, run);
  }
});
