import { memoryStore, type OpenStoreOptions } from "heddle";
import { MemoryDatabase } from "heddle/store";
import { storeContract } from "heddle/testing";
import { describe, test } from "vitest";

describe("memoryStore keeps the contract", () => {
  const database = new MemoryDatabase();
  const open = (options: OpenStoreOptions) => memoryStore({ ...options, database });
  for (const { name, group, run, skip } of storeContract({ open })) test.skipIf(skip)(`${group}: ${name}`, run);
});
