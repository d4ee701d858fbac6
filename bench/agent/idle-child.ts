// The memory of many idle conversations: idle-child.ts <peer> <folder> <threads>; needs --expose-gc
import { setTimeout as sleep } from "node:timers/promises";
import { load } from "../peers/agent/peers.ts";
import { askOf } from "./conversation.ts";

const SECONDS = 5;
const AT_ONCE = 64;

const [which = "", folder = "", threads = "0"] = process.argv.slice(2);
const { name, open } = await load(which);
const agent = await open(folder, { usesTool: false });
await converse("warm-up", 10 * AT_ONCE);
const before = heap();
await converse("thread", Number(threads));
const bytes = heap() - before;
const cpu = process.cpuUsage();
const begun = performance.now();
await sleep(SECONDS * 1000);
const { user, system } = process.cpuUsage(cpu);
const busy = (user + system) / 1000 / (performance.now() - begun);
process.stdout.write(`\n${JSON.stringify({ name, perThread: bytes / Number(threads), busy })}\n`, () =>
  process.exit(0),
);

/** Makes many conversations of one turn each, then waits until idle ones are released. */
async function converse(kind: string, count: number): Promise<void> {
  for (let from = 0; from < count; from += AT_ONCE) {
    const ids = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, index) => `${kind}_${from + index}`);
    await Promise.all(
      ids.map(async (id) => {
        const conversation = await agent.begin(id);
        await conversation.ask(askOf(0));
      }),
    );
  }
  await agent.rest?.();
}

/** The bytes in use after a garbage collection. */
function heap(): number {
  for (let time = 0; time < 3; time += 1) globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
