import { defineStore } from "heddle/store";
import { note, user } from "heddle/testing";
import { expect, test } from "vitest";
import type { StoreDriver, ThreadHead } from "../../../src/stores/driver.ts";
import { MemoryTenant, memoryDriver } from "../../../src/stores/memory-store.ts";
import { nativeSha256 } from "../../../src/stores/native/sha256.ts";
import { sealHead } from "../../../src/stores/row-format.ts";

/** As versions wrote it that did not record malformed operations. */
function earlier(driver: StoreDriver): StoreDriver {
  return {
    ...driver,
    transact: (threadId, ids, decide) =>
      driver.transact(threadId, ids, (state) => {
        const decision = decide(state);
        return decision.head === undefined ? decision : { ...decision, head: unmarked(threadId, decision.head) };
      }),
  };
}

function unmarked(threadId: string, { seal: _, track: { active, lanes }, ...head }: ThreadHead): ThreadHead {
  return sealHead(threadId, { ...head, track: { active, lanes } }, nativeSha256);
}

test("a malformed operation of an earlier version is verified, continued and verified again", async () => {
  const tenant = new MemoryTenant();
  const driver = memoryDriver(tenant, Date.now);
  const operation = (reason: string) => ({
    kind: "ai_context_operation",
    payload: { opId: reason, contextRef: "side", operation: { type: "switch", reason } },
  });
  const old = defineStore(earlier(driver), { sha256: nativeSha256 });
  for (const entry of [user("one"), operation("why"), user("two"), note({}), user("three")])
    await old.append("t", entry);
  expect(tenant.threads.get("t")?.head.track).not.toHaveProperty("malformed");
  const store = defineStore(driver, { sha256: nativeSha256 });
  expect(await store.verify("t")).toMatchObject({ ok: true, entries: 5 });
  await store.append("t", [user("four"), operation("because"), user("five"), note({})]);
  expect(tenant.threads.get("t")?.head.track).toHaveProperty("malformed", true);
  expect(await store.verify("t")).toMatchObject({ ok: true, entries: 9 });
});
