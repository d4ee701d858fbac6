// Opens a fixture, loads the last entry and prints how many milliseconds that took.
import { sqliteStore } from "heddle/sqlite";
import { Baseline } from "./baseline.ts";
import { THREAD } from "./fixtures.ts";

const [which, path = ""] = process.argv.slice(2);
const started = performance.now();
if (which === "baseline") {
  const baseline = new Baseline(path);
  if (baseline.last(THREAD, 1).length !== 1) throw new Error("The last row is missing.");
  print(performance.now() - started);
  baseline.close();
} else {
  const store = sqliteStore(path);
  const thread = await store.load(THREAD, { last: 1 });
  if (thread?.last() === undefined) throw new Error("The last entry is missing.");
  print(performance.now() - started);
  await store.close();
}

function print(ms: number): void {
  process.stdout.write(String(ms));
}
