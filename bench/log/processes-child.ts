// Appends to a file one by one when the parent says so, and sends what it measured. Errors are counted.
import { readFileSync } from "node:fs";
import { type SqliteMode, sqliteStore } from "heddle/sqlite";
import { messageOf } from "./message.ts";
import type { Appended } from "./processes.ts";

const [path = "", threadId = "", count = "", warmup = "", mode = ""] = process.argv.slice(2);
const store = sqliteStore(path, { mode: mode as SqliteMode }); // the parent passes a mode
for (let n = 0; n < Number(warmup); n++) await store.append(threadId, messageOf(n)).catch(() => {});
const started = new Promise((resolve) => process.once("message", resolve));
process.send?.("ready");
await started;

/** The longest turn of the event loop so far, without the time in which the machine gave the process no core. */
let longestTurnMs = 0;
let turnStarted = performance.now();
let delayed = delayMs();
function endTurn(): void {
  const [now, delay] = [performance.now(), delayMs()];
  longestTurnMs = Math.max(longestTurnMs, now - turnStarted - (delay - delayed));
  [turnStarted, delayed] = [now, delay];
}
const turns = mode === "relaxed" ? setInterval(endTurn, 1) : undefined;

let errors = 0;
const waits: number[] = [];
const cpu = process.cpuUsage();
const before = performance.now();
for (let n = 0; n < Number(count); n++) {
  const since = performance.now();
  await store.append(threadId, messageOf(n)).catch(() => errors++);
  waits.push(performance.now() - since);
}
const ms = performance.now() - before;
const { user, system } = process.cpuUsage(cpu);
endTurn();
clearInterval(turns);
const measuredTurn = turns === undefined ? undefined : longestTurnMs;
const appended: Appended = { ms, cpuMs: (user + system) / 1000, waits, longestTurnMs: measuredTurn, errors };
const ended = new Promise((resolve) => process.once("message", resolve));
process.send?.(appended);
await ended; // so that closing does not disturb the others
await store.close();
process.disconnect();

/** How long this thread was ready to run and waited for a core, as Linux counts it. Elsewhere 0. */
function delayMs(): number {
  try {
    return Number(readFileSync("/proc/self/schedstat", "latin1").split(" ")[1]) / 1e6;
  } catch {
    return 0;
  }
}
