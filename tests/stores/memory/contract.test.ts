import { memoryStore, type OpenStoreOptions } from "heddle";
import { MemoryDatabase, memoryDatabase, type StoreOptions } from "heddle/store";
import { storeContract } from "heddle/testing";
import { describe, test } from "vitest";

describe("memoryStore keeps the contract", () => {
  const database = new MemoryDatabase();
  const open = (options: OpenStoreOptions) => memoryStore({ ...options, database });
  const openDatabase = (options: StoreOptions) => memoryDatabase({ ...options, database });
  for (const { name, group, run, skip } of storeContract({ open, openDatabase }))
    test.skipIf(skip)(`${group}: ${name}`, run);
});
