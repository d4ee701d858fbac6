// Appends to a file one by one, and prints as JSON how long that took. Errors are counted.
import { sqliteStore } from "heddle/sqlite";
import { messageOf } from "./message.ts";
import type { Appended } from "./processes.ts";

/** Appends before the measured ones, so that code is compiled. */
const WARMUP = 100;

const [path = "", threadId = "", count = ""] = process.argv.slice(2);
const store = sqliteStore(path);
for (let n = 0; n < WARMUP; n++) await store.append(threadId, messageOf(n)).catch(() => {});
let errors = 0;
let slowestMs = 0;
const cpu = process.cpuUsage();
const started = performance.now();
for (let n = 0; n < Number(count); n++) {
  const before = performance.now();
  await store.append(threadId, messageOf(n)).catch(() => errors++);
  slowestMs = Math.max(slowestMs, performance.now() - before);
}
const ms = performance.now() - started;
const { user, system } = process.cpuUsage(cpu);
await store.close();
const appended: Appended = { ms, cpuMs: (user + system) / 1000, slowestMs, errors };
console.log(JSON.stringify(appended));
