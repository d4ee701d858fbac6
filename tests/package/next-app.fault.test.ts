import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mustBeBuilt, root } from "../docs/built.ts";

const run = promisify(execFile);

const MANIFEST = {
  name: "app",
  private: true,
  type: "module",
  dependencies: {
    next: "16.4.6",
    react: "19.3.1",
    "react-dom": "19.3.1",
    zod: "4.6.7",
    zod3: "npm:zod@3.25.76",
    "zod-to-json-schema": "3.25.2",
  },
  // Next.js brings 30 MB for images, which this app has none of.
  overrides: { sharp: "npm:client-only@0.0.1" },
};

const LAYOUT = `export default function Layout({ children }) {
  return <html lang="en"><body>{children}</body></html>;
}`;

/** Runs in the browser too: a bundle that reaches for Node's modules there would not build. */
const PAGE = `"use client";
import { openStore, project, Thread } from "heddle";
export default function Page() {
  const thread = Thread.fromMessages([{ role: "user", content: "Hi" }], { format: "neutral" });
  const open = () => openStore("sqlite:./page.db").catch(({ code }) => console.log(code));
  return <button onClick={open}>{"messages: " + project({ thread }).messages.length}</button>;
}`;

/** Two thirds of the CPU time: the test reads no source map, and builds once. */
const CONFIG = `export default {
  experimental: {
    turbopackSourceMaps: false,
    turbopackInputSourceMaps: false,
    turbopackFileSystemCacheForBuild: false,
  },
};`;

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

const home = mkdtempSync(join(tmpdir(), "heddle-next-"));
const env = { ...process.env, NEXT_TELEMETRY_DISABLED: "1", NODE_ENV: undefined, NODE_OPTIONS: undefined, CI: "1" };
let unreachable: string | undefined;

/** Of npm, when the registry does not answer or does not have a package; anything else is a failure of the test. */
const NO_REGISTRY = /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENOTCACHED|E403|E404|ETARGET)\b|network/;

beforeAll(async () => {
  mustBeBuilt();
  const files = {
    "next.config.mjs": CONFIG,
    "app/layout.jsx": LAYOUT,
    "app/page.jsx": PAGE,
    "app/ask/route.js": ROUTE,
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text);
  }
  const packed = await run("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", home], { cwd: root });
  const heddle = `file:./${packed.stdout.trim().split("\n").at(-1)}`;
  const dependencies = { ...MANIFEST.dependencies, heddle };
  writeFileSync(join(home, "package.json"), JSON.stringify({ ...MANIFEST, dependencies }));
  // The cache stays, so that later runs need the registry for little.
  const cache = join(tmpdir(), "heddle-next-npm-cache");
  const flags = [
    "--no-audit",
    "--no-fund",
    "--ignore-scripts",
    "--prefer-offline",
    "--fetch-retries=1",
    "--cache",
    cache,
  ];
  await run("npm", ["install", ...flags], { cwd: home, env }).catch((error: { stderr: string }) => {
    if (!NO_REGISTRY.test(error.stderr)) throw error;
    unreachable = `The test of a Next.js app is skipped: npm could not install it. ${error.stderr.split("\n")[0]}`;
    process.stderr.write(`${unreachable}\n`);
  });
});

afterAll(() => rmSync(home, { recursive: true, force: true }));

const next = join(home, "node_modules/next/dist/bin/next");

async function started(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout ?? expect.fail("it has no output") })) {
    const url = /http:\/\/localhost:\d+/.exec(line);
    if (url !== null) return url[0];
  }
  throw new Error("next start ended without an address");
}

test("a Next.js app, bundled by Turbopack, runs tools of zod 3 and 4 on a store that it opens by URL", async ({
  skip,
}) => {
  if (unreachable !== undefined) return skip(unreachable);
  const build = await run(process.execPath, [next, "build"], { cwd: home, env });
  expect(build.stdout).toContain("Turbopack");

  const child = spawn(process.execPath, [next, "start", "--port", "0"], {
    cwd: home,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const url = await started(child);
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
  } finally {
    child.kill();
    await once(child, "exit");
  }
});
