import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mustBeBuilt, root } from "../docs/built.ts";
import { addressOf, CONFIG, installNextApp, LAYOUT, NEXT_ENV, nextIn } from "./support/next-app.ts";

const run = promisify(execFile);

const DEPENDENCIES = { zod: "4.6.7", zod3: "npm:zod@3.25.76", "zod-to-json-schema": "3.25.2" };

/** Runs in the browser too: a bundle that reaches for Node's modules there would not build. */
const PAGE = `"use client";
import { openStore, project, Thread } from "heddle";
import { chatTransport, useThread } from "heddle/react";
const transport = chatTransport();
const chat = { id: "t", setMessages: () => {}, resumeStream: async () => {}, stop: async () => {} };
export default function Page() {
  useThread(chat, transport);
  const thread = Thread.fromMessages([{ role: "user", content: "Hi" }], { format: "neutral" });
  const open = () => openStore("sqlite:./page.db").catch(({ code }) => console.log(code));
  return <button onClick={open}>{"messages: " + project({ thread }).messages.length}</button>;
}`;

const ROUTE = `import { AgentServer, defineAgent, defineTool, loadExactCounter, openStore, toolSpecsOf } from "heddle";
import { scriptedModel } from "heddle/testing";
import * as z4 from "zod";
import * as z3 from "zod3";

const add = (z) => defineTool({ inputSchema: z.object({ a: z.number(), b: z.number() }), execute: ({ a, b }) => a + b });

export async function GET() {
  const model = scriptedModel([
    { calls: [{ name: "add3", arguments: { a: 1, b: 2 } }, { name: "add4", arguments: { a: 3, b: 4 } }] },
    "Three and seven.",
  ]);
  const tools = { add3: add(z3), add4: add(z4) };
  const store = await openStore("sqlite:./next.db");
  const server = await AgentServer.start({ agent: defineAgent({ model, tools }), store });
  const request = await server.ask("Add.");
  const { text } = await request.result;
  const thread = await store.load(server.threadId);
  await server.stop();
  await store.close();
  const sent = thread.toMessages({ format: "openai-chat" });
  const results = sent.filter(({ role }) => role === "tool").map(({ content }) => content);
  const specs = await toolSpecsOf(tools);
  const tokens = await loadExactCounter("openai:gpt-5").catch(({ message }) => message);
  return Response.json({ text, results, specs, tokens });
}
export const dynamic = "force-dynamic";`;

const CHAT = `import { AgentHost, defineAgent, memoryStore } from "heddle";
import { chatHandler } from "heddle/ai-sdk";
import { scriptedModel } from "heddle/testing";

const host = AgentHost.create({ agent: defineAgent({ model: scriptedModel(["4"]) }), store: memoryStore() });
export const { GET, POST } = chatHandler({ host, authorize: () => true });`;

/** Without `developmentHost`, the post after an edit is `thread_held`: the lease is an hour, and no claim is waited for. */
const editedHost = (
  version: number,
): string => `import { AgentHost, defineAgent, developmentHost, openStore } from "heddle";
import { scriptedModel } from "heddle/testing";

export const version = ${version};
const agent = defineAgent({ model: scriptedModel(["Answer ${version}."]) });
export const host = await developmentHost("chat", async (before) => {
  const store = before?.store ?? (await openStore("sqlite:./edited.db"));
  return AgentHost.create({ agent, store, leaseTtlMs: 3_600_000, claimWaitMs: 0, idleMs: 3_600_000 });
});`;

const EDITED_CHAT = `import { chatHandler } from "heddle/ai-sdk";
import { host } from "../../../host.js";
export const { GET, POST } = chatHandler({ host, authorize: () => true });`;

/** A page is evaluated apart from routes. It shows the messages of the host that the route has asked. */
const EDITED_PAGE = `import { host, version } from "../host.js";
export default async function Page() {
  const { entryCount } = await host.thread("t");
  return <p>{"version " + version + ", entries " + entryCount + "."}</p>;
}
export const dynamic = "force-dynamic";`;

const home = mkdtempSync(join(tmpdir(), "heddle-next-"));
let unreachable: string | undefined;

beforeAll(async () => {
  mustBeBuilt();
  const files = {
    "next.config.mjs": CONFIG,
    "app/layout.jsx": LAYOUT,
    "app/page.jsx": PAGE,
    "app/ask/route.js": ROUTE,
    "app/api/chat/[[...path]]/route.js": CHAT,
    "app/host.js": editedHost(1),
    "app/api/edited/[[...path]]/route.js": EDITED_CHAT,
    "app/edited/page.jsx": EDITED_PAGE,
  };
  const packed = await run("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", home], { cwd: root });
  const heddle = `file:./${packed.stdout.trim().split("\n").at(-1)}`;
  unreachable = await installNextApp(home, files, { ...DEPENDENCIES, heddle });
  if (unreachable !== undefined) process.stderr.write(`${unreachable}\n`);
});

afterAll(() => rmSync(home, { recursive: true, force: true }));

const next = nextIn(home);

test("a Next.js app, bundled by Turbopack, runs tools of zod 3 and 4 on a store that it opens by URL, and a chat", async ({
  skip,
}) => {
  if (unreachable !== undefined) return skip(unreachable);
  const build = await run(process.execPath, [next, "build"], { cwd: home, env: NEXT_ENV });
  expect(build.stdout).toContain("Turbopack");

  const child = spawn(process.execPath, [next, "start", "--port", "0"], {
    cwd: home,
    env: NEXT_ENV,
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const url = await addressOf(child);
    const schema = {
      type: "object",
      properties: { a: { type: "number" }, b: { type: "number" } },
      required: ["a", "b"],
    };
    expect(await (await fetch(`${url}/ask`)).json()).toMatchObject({
      text: "Three and seven.",
      results: ["3", "7"],
      specs: [
        { name: "add3", inputSchema: schema },
        { name: "add4", inputSchema: schema },
      ],
      tokens: expect.stringContaining("npm install gpt-tokenizer@4"), // it is not installed, and the build does not need it
    });
    expect(await (await fetch(url)).text()).toContain("messages: 1");
    const messages = [{ id: "m1", role: "user", parts: [{ type: "text", text: "2+2?" }] }];
    const headers = { "content-type": "application/json" };
    const post = { method: "POST", headers, body: JSON.stringify({ id: "t", messages }) };
    expect(await (await fetch(`${url}/api/chat`, post)).text()).toContain('"delta":"4"');
    expect(await (await fetch(`${url}/api/chat/t/messages`)).json()).toMatchObject({ status: "completed" });
  } finally {
    child.kill();
    await once(child, "exit");
  }
});

test("after an edit, next dev answers on the same thread, and waits for no lease", async ({ skip }) => {
  if (unreachable !== undefined) return skip(unreachable);
  const child = spawn(process.execPath, [next, "dev", "--port", "0"], {
    cwd: home,
    env: NEXT_ENV,
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const url = await addressOf(child);
    const post = async (id: string): Promise<string> => {
      const messages = [{ id, role: "user", parts: [{ type: "text", text: "2+2?" }] }];
      const headers = { "content-type": "application/json" };
      const body = JSON.stringify({ id: "t", messages });
      return (await fetch(`${url}/api/edited`, { method: "POST", headers, body })).text();
    };
    const page = async (): Promise<string> =>
      (await (await fetch(`${url}/edited`)).text()).match(/version \d, entries \d/)?.[0] ?? "";
    expect(await post("m1")).toContain("Answer 1.");
    expect(await page()).toBe("version 1, entries 2");

    writeFileSync(join(home, "app/host.js"), editedHost(2));
    await expect.poll(page, { interval: 100 }).toContain("version 2");
    expect(await post("m2")).toContain("Answer 2.");
    expect(await page()).toMatch(/^version 2, entries \d$/);
  } finally {
    child.kill();
    await once(child, "exit");
  }
});
