import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { freePort } from "../../support/postgres/free-port.ts";
import { fastFolder } from "../../support/temp-folder.ts";
import type { EngineStory } from "./kill-story.ts";

/** A server that keeps the lines that it gets. */
async function noteTaker(): Promise<{ readonly url: string; readonly lines: string[] }> {
  const lines: string[] = [];
  const server = createServer((request, response) => {
    const take = (line: string): void => {
      lines.push(line);
      response.end();
    };
    text(request).then(take, () => undefined); // its sender was killed before the end of the line
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, lines };
}

/** Durable Objects in workerd, which is killed with all of its objects. */
export async function durableStory(): Promise<EngineStory> {
  const folder = fastFolder();
  const notes = await noteTaker();
  const port = await freePort();
  const start = async (): Promise<ChildProcess> => {
    const runner = new URL("../../support/workerd/run-workerd.ts", import.meta.url).pathname;
    const script = new URL("agent-worker.ts", import.meta.url).href;
    const args = [runner, script, folder, String(port), notes.url];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"], detached: true });
    await once(child.stdout, "data");
    return child;
  };
  const kill = async (child: ChildProcess): Promise<void> => {
    const ended = once(child, "exit");
    process.kill(-(child.pid ?? 0), "SIGKILL"); // workerd too
    await ended;
  };
  let child = await start();
  onTestFinished(() => kill(child));
  const send = async (threadId: string, init?: RequestInit): Promise<Response> => {
    const url = `http://127.0.0.1:${port}/?thread=${threadId}`;
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(10_000) });
    if (!response.ok) throw new Error(await response.text());
    return response;
  };
  return {
    async ask(threadId, id, plan) {
      await send(threadId, { method: "POST", body: JSON.stringify({ id, plan }) });
    },
    read: async (threadId) => (await (await send(threadId)).json()) as Awaited<ReturnType<EngineStory["read"]>>,
    async kill() {
      await kill(child);
      child = await start();
    },
    runs: () => notes.lines,
  };
}
