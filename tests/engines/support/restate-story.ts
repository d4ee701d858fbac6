import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { restateScheduler } from "heddle/restate";
import { sqliteStore } from "heddle/sqlite";
import { onTestFinished } from "vitest";
import { bundledScript } from "../../support/bundled-script.ts";
import { freePort } from "../../support/postgres/free-port.ts";
import { fastFolder } from "../../support/temp-folder.ts";
import type { EngineStory } from "./kill-story.ts";
import { startRestate } from "./start-restate.ts";

/** A worker with a file of SQLite, which Restate calls. */
export async function restateStory(): Promise<EngineStory> {
  const folder = fastFolder();
  const [file, runs] = [join(folder, "threads.db"), join(folder, "runs")];
  writeFileSync(runs, "");
  const store = sqliteStore(file, { mode: "relaxed" });
  onTestFinished(() => store.close());
  const restate = await startRestate();
  onTestFinished(restate.stop);
  const port = await freePort();
  const script = bundledScript(new URL("restate-worker.ts", import.meta.url));
  const start = async () => {
    const args = [script, String(port), restate.url, file, runs];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "ignore"] });
    await once(child.stdout, "data");
    return child;
  };
  let child = await start();
  onTestFinished(() => void child.kill("SIGKILL"));
  await restate.register(`http://127.0.0.1:${port}`);
  const scheduler = restateScheduler({ url: restate.url });
  return {
    async ask(threadId, id, plan) {
      await store.post(threadId, { id, type: "ask", content: `plan: ${plan}` });
      await scheduler.wake(threadId);
    },
    async read(threadId) {
      const thread = await store.load(threadId);
      if (thread === undefined) return { ok: true, entries: [] };
      return { ok: (await store.verify(threadId)).ok, entries: thread.toArray() };
    },
    async kill() {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
      child = await start();
    },
    runs: () => readFileSync(runs, "utf8").trim().split("\n"),
  };
}
