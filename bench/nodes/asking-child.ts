// Asks on threads of its own when the parent says so, several at once, and sends how long all of them took.
import { AgentHost } from "heddle";
import { agent, storeOf } from "./agent.ts";

const [url = "", node = "", asks = "", atOnce = ""] = process.argv.slice(2);
const store = storeOf(url);
const host = AgentHost.create({ agent: agent(), store });

/** Each place asks on a thread of its own, one request after the other. */
async function place(name: string, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await (await host.ask(name, "hi")).result;
}

async function all(round: string, count: number): Promise<void> {
  const places = Array.from({ length: Number(atOnce) }, (_, index) => `${node} ${round} ${index}`);
  await Promise.all(places.map((name) => place(name, count)));
}

await all("warm-up", 2);
const started = new Promise((resolve) => process.once("message", resolve));
process.send?.("ready");
await started;
const cpu = process.cpuUsage();
const before = performance.now();
await all("measured", Number(asks));
const { user, system } = process.cpuUsage(cpu);
const ended = new Promise((resolve) => process.once("message", resolve));
process.send?.({ ms: performance.now() - before, cpuMs: (user + system) / 1000 });
await ended; // the connections stay, so that the parent can read what they have cost
await host.stop();
await store.close();
process.disconnect();
