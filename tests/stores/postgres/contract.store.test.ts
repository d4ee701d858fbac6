import { storeContract } from "heddle/testing";
import { describe, inject, test } from "vitest";
import { spawnWorker } from "../../support/spawn-worker.ts";
import { openDatabase, openStore, schema } from "./open.ts";

const spawn = spawnWorker(`${inject("postgresUrl")}#${schema}`);

describe("the Postgres store keeps the contract", () => {
  for (const { name, run, skip } of storeContract({
    open: (options) => openStore(options),
    openDatabase: (options) => openDatabase(options),
    spawn,
    timeoutMs: 300_000,
  })) {
    test(name, { skip: skip !== undefined }, run);
  }
});
