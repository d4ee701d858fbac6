// The memory of one live thread during many requests: live-child.ts <folder> <requests>; needs --expose-gc
import { askOf } from "./conversation.ts";
import { heddleRelaxed } from "./heddle-peer.ts";

const SAMPLES = 16;

const [folder = "", count = "0"] = process.argv.slice(2);
const requests = Number(count);
const agent = await (await heddleRelaxed()).open(folder, { usesTool: false });
const conversation = await agent.begin("thread_live");
await conversation.ask(askOf(0));
const before = heap();
let most = 0;
for (let asked = 1; asked <= requests; asked += 1) {
  await conversation.ask(askOf(asked));
  if (asked % Math.ceil(requests / SAMPLES) === 0) most = Math.max(most, heap() - before);
}
process.stdout.write(`\n${JSON.stringify({ most, last: heap() - before })}\n`, () => process.exit(0));

/** Bytes that are in use after a collection. */
function heap(): number {
  for (let time = 0; time < 3; time += 1) globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
