// One holder per thread: one of two processes works, and a holder that lost its claim cannot write.
import { memoryStore, StaleHolderError, ThreadHeldError } from "heddle";
import { MemoryDatabase } from "heddle/store";

// Two handles on one database simulate two processes. The store gets a fake clock, so that the example does not wait.
const database = new MemoryDatabase();
let now = Date.now();
const clock = () => now;
const first = memoryStore({ database, clock });
const second = memoryStore({ database, clock });

const claim = await first.claim("thread_1", { holder: "process-1", ttlMs: 30_000 });
await first.append("thread_1", { payload: { text: "working" } }, { epoch: claim.epoch });
console.log(`process-1 holds the thread, epoch ${claim.epoch}`);

try {
  await second.claim("thread_1", { holder: "process-2", ttlMs: 30_000 });
} catch (error) {
  if (!ThreadHeldError.isInstance(error)) throw error;
  console.log(`process-2 has to wait: held by ${error.holder}`);
}

now += 31_000; // process-1 hangs and does not renew
const takeover = await second.claim("thread_1", { holder: "process-2", ttlMs: 30_000 });
console.log(`process-2 holds the thread, epoch ${takeover.epoch}`);

try {
  await first.append("thread_1", { payload: { text: "still working" } }, { epoch: claim.epoch });
} catch (error) {
  if (!StaleHolderError.isInstance(error)) throw error;
  console.log(`process-1 wakes up and is refused: ${error.message}`);
}

await second.release("thread_1", takeover.epoch);
console.log(`entries written: ${(await second.load("thread_1"))?.entryCount}`);
