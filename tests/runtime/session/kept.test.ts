import { memoryStore, systemRuntimePorts, type ThreadStore } from "heddle";
import { expect, test } from "vitest";
import { Holder } from "../../../src/runtime/session/holder.ts";
import { Kept } from "../../../src/runtime/session/kept.ts";

function operation(opId: string) {
  return { opId, contextRef: "default", operation: { type: "switch", reason: "manual" } } as const;
}

/** Its deletions wait until they are let go. */
function slowToDelete() {
  const store = memoryStore();
  const { promise, resolve } = Promise.withResolvers<void>();
  const slow: Pick<ThreadStore, "getCheckpoint" | "putCheckpoint" | "deleteCheckpoint"> = {
    getCheckpoint: (key) => store.getCheckpoint(key),
    putCheckpoint: (key, value) => store.putCheckpoint(key, value),
    deleteCheckpoint: async (key) => {
      await promise;
      return store.deleteCheckpoint(key);
    },
  };
  return { store: slow as ThreadStore, letGo: resolve }; // all that is asked of it here
}

test("an operation that is kept while the one before is being forgotten stays kept", async () => {
  const { store, letGo } = slowToDelete();
  const kept = new Kept({ store, threadId: "thread_1", ports: systemRuntimePorts, holder: undefined });
  await kept.keep(operation("op_1"));
  const forgotten = kept.forget("op_1");
  const again = kept.keep(operation("op_2"));
  letGo();
  await Promise.all([forgotten, again]);
  expect((await kept.operation())?.opId).toBe("op_2");
});

test("an operation that was kept since the last one had its turn is not forgotten with it", async () => {
  const kept = new Kept({ store: memoryStore(), threadId: "thread_1", ports: systemRuntimePorts, holder: undefined });
  await kept.keep(operation("op_1"));
  await kept.keep(operation("op_2"));
  await kept.forget("op_1");
  expect((await kept.operation())?.opId).toBe("op_2");
  await kept.forget("op_2");
  expect(await kept.operation()).toBeUndefined();
});

test("an operation is not kept by a holder that has lost its thread: whoever has it now may have looked before", async () => {
  const store = memoryStore();
  const options = { holder: "one", ttlMs: 60_000, waitMs: 0, ports: systemRuntimePorts, lost: () => undefined };
  const holder = await Holder.claim(store, "thread_1", options);
  const kept = new Kept({ store, threadId: "thread_1", ports: systemRuntimePorts, holder });
  await kept.keep(operation("op_1"));
  await store.release("thread_1", holder.epoch);
  await store.claim("thread_1", { holder: "two", ttlMs: 60_000 });
  await expect(kept.keep(operation("op_2"))).rejects.toMatchObject({ code: "stale_holder" });
  await holder.release();
});
