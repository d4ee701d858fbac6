import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { mustBeBuilt } from "../docs/built.ts";
import { startRestate } from "../engines/support/start-restate.ts";
import { freePort } from "../support/postgres/free-port.ts";
import { fastFolder } from "../support/temp-folder.ts";
import { startWorkerd } from "../support/workerd/start-workerd.ts";

beforeAll(mustBeBuilt);

const template = (path: string): URL => new URL(`../../examples/${path}`, import.meta.url);

test("the chat on Durable Objects answers, and has its messages after a restart", async () => {
  const folder = fastFolder();
  const script = template("cloudflare/worker.ts");
  const messages = [{ id: "m1", role: "user", parts: [{ type: "text", text: "What's 2+2?" }] }];
  const first = await startWorkerd({ script, folder });
  const post = { method: "POST", body: JSON.stringify({ id: "thread_1", messages }) };
  const headers = { "content-type": "application/json" };
  const answer = await (await first.dispatchFetch("http://chat/api/chat", { ...post, headers })).text();
  expect(answer).toContain("It is 4.");
  await first.dispose();
  const second = await startWorkerd({ script, folder });
  const read = await (await second.dispatchFetch("http://chat/api/chat/thread_1/messages")).json();
  expect(read).toMatchObject({ messages: [{ id: "m1" }, { role: "assistant" }], status: "completed" });
  await second.dispose();
});

test("the settings of the template have the flags, the class and the binding that the worker needs", () => {
  const settings: unknown = JSON.parse(readFileSync(template("cloudflare/wrangler.jsonc"), "utf8"));
  expect(settings).toMatchObject({
    compatibility_flags: ["nodejs_compat"],
    durable_objects: { bindings: [{ name: "THREADS", class_name: "Thread" }] },
    migrations: [{ new_sqlite_classes: ["Thread"] }],
  });
});

test("a worker of Restate answers what another process has posted", async () => {
  const restate = await startRestate();
  onTestFinished(restate.stop);
  const port = await freePort();
  const store = `sqlite:${join(fastFolder(), "threads.db")}`;
  const run = (file: string, ...args: readonly string[]) => {
    const env = { ...process.env, RESTATE_URL: restate.url, STORE: store, PORT: String(port) };
    const command = [template(`restate/${file}`).pathname, ...args];
    const child = spawn(process.execPath, command, { env, stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    return child;
  };
  await once(run("worker.ts").stdout, "data");
  await restate.register(`http://127.0.0.1:${port}`);
  expect(await text(run("ask.ts", "thread_1", "What's 2+2?").stdout)).toContain("It is 4.");
});
