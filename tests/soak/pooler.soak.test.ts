import { afterAll, describe, inject, test } from "vitest";
import { pooledContract } from "../stores/postgres/pooled-contract.ts";
import { startPooler } from "../support/postgres/start-pooler.ts";

const pooler = await startPooler(inject("postgresUrl"));
const isMissing = "missing" in pooler;

afterAll(async () => {
  if (!isMissing) await pooler.stop();
});

describe.skipIf(isMissing)(`the whole contract behind PgBouncer${isMissing ? ` (${pooler.missing})` : ""}`, () => {
  for (const { name, run, skip } of pooledContract(isMissing ? "" : pooler.url))
    test(name, { skip: skip !== undefined }, run);
});
