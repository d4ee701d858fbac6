import { randomUUID } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { startProxy } from "../support/postgres/tcp-proxy.ts";
import { until } from "../support/postgres/until.ts";
import { fastFolder } from "../support/temp-folder.ts";
import { Heddle } from "./support/process.ts";

const TOKEN = "a-token-of-the-tests";
const SECRET = "Ada's salary";
const source = (path: string): string => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);

/** An agent that says three words. It stops before the second one until the file `go` exists. */
const SLOW = `
import { existsSync } from "node:fs";
import { defineAgent } from ${source("agent/definition/define-agent.ts")};
const usage = { inputTokens: { total: 3 }, outputTokens: { total: 2 } };
const model = {
  specificationVersion: "v4", provider: "own", modelId: "slow", supportedUrls: {},
  doGenerate: () => Promise.reject(new Error("It streams.")),
  doStream: async ({ abortSignal }) => ({ stream: ReadableStream.from((async function* () {
    yield { type: "stream-start", warnings: [] };
    yield { type: "text-start", id: "0" };
    yield { type: "text-delta", id: "0", delta: "${SECRET}: " };
    while (!existsSync("go") && !abortSignal?.aborted) await new Promise((resolve) => setTimeout(resolve, 10));
    yield { type: "text-delta", id: "0", delta: "known." };
    yield { type: "text-end", id: "0" };
    yield { type: "finish", usage, finishReason: { unified: "stop", raw: "stop" } };
  })()) }),
};
export const agent = defineAgent({ name: "clerk", model });
`;

interface Served {
  readonly process: Heddle;
  readonly url: string;
  /** The lines of the log, without their times. */
  log(): readonly Record<string, unknown>[];
  get(path: string, token?: string): Promise<Response>;
  /** Posts a message of a page. */
  say(text: string, threadId?: string): Promise<Response>;
}

async function served(cwd: string, env: Record<string, string> = {}, args: readonly string[] = []): Promise<Served> {
  const given = { HEDDLE_TOKEN: TOKEN, HEDDLE_DRAIN: "0", ...env };
  const process = new Heddle(["serve", "agent.mjs", "--port", "0", ...args], cwd, given);
  await process.wrote(/"listening"/);
  await process.wrote(/^http/);
  const url = process.stdout.split("\n")[0] ?? "";
  const get = (path: string, token = TOKEN) =>
    fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}`, connection: "close" } });
  return {
    process,
    url,
    get,
    log: () =>
      process.stderr
        .trim()
        .split("\n")
        .map((line) => ({ ...JSON.parse(line), time: undefined })),
    say: (text, threadId = "t") =>
      fetch(`${url}/api/chat`, {
        method: "POST",
        headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
        body: JSON.stringify({
          id: threadId,
          messages: [{ id: `m_${text}`, role: "user", parts: [{ type: "text", text }] }],
        }),
      }),
  };
}

function folder({ isSlow = false, more = "" } = {}): string {
  const cwd = fastFolder();
  writeFileSync(join(cwd, "agent.mjs"), `${SLOW}\n${more}`);
  if (!isSlow) writeFileSync(join(cwd, "go"), "");
  return cwd;
}

test("chat, Studio, probes and metrics on one port, and a log without the text of the chat", async () => {
  const server = await served(folder());
  expect(await (await server.get("/healthz", "")).json()).toEqual({ alive: true });
  expect(await (await server.get("/readyz", "")).json()).toEqual({ ready: true });
  expect(await (await server.say(`Tell me ${SECRET}.`)).text()).toContain("known.");
  const { messages } = (await (await server.get("/api/chat/t/messages")).json()) as { readonly messages: object[] };
  expect(messages).toHaveLength(2);
  const { threads } = (await (await server.get("/api/threads")).json()) as { readonly threads: { id: string }[] };
  expect(threads.map(({ id }) => id)).toEqual(["t"]);
  expect(await (await server.get("/")).text()).toContain("<!doctype html>");
  const metrics = await (await server.get("/metrics")).text();
  expect(metrics).toContain('heddle_requests_total{agent="clerk",result="completed"} 1');
  expect(metrics).toContain('heddle_model_calls_total{agent="clerk",result="answered"} 1');
  expect(metrics).toContain('heddle_tokens_total{agent="clerk",type="output"} 2');
  expect(
    metrics.split("\n").filter((line) => !/^(# TYPE \w+ (counter|gauge)|\w+({[^{}]*})? [\d.e-]+|)$/.test(line)),
  ).toEqual([]);
  server.process.child.kill("SIGTERM");
  expect((await server.process.ended).code).toBe(0);
  const events = server.log().map(({ event }) => event);
  expect(events.filter((event) => event !== "warning")).toEqual([
    ...["listening", "request_started", "request_completed", "draining", "stopped"],
  ]);
  expect(server.process.stderr).not.toContain("salary");
});

test.each(["/api/chat/t/messages", "/api/threads", "/metrics"])("%s needs the token", async (path) => {
  const server = await served(folder());
  for (const token of ["", "another-token-of-tests"]) {
    const response = await server.get(path, token);
    expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([
      401,
      "unauthorized",
    ]);
  }
});

test("the file's own options of the chat and of the host are used", async () => {
  const more = `export const chat = { authorize: (request) => request.headers.get("x-user") === "ada" };
    export const host = { holder: "node_of_the_file" };`;
  const server = await served(folder({ more }));
  expect((await server.get("/api/chat/t/messages")).status).toBe(403);
  expect((await fetch(`${server.url}/api/chat/t/messages`, { headers: { "x-user": "ada" } })).status).toBe(200);
});

test("with several agents a page names one, and the Studio asks the first in new threads", async () => {
  const more = `export const chef = defineAgent({ name: "chef", model });
    export default agent;`;
  const server = await served(folder({ more }));
  const post = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
    const response = await fetch(`${server.url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    return [response.status, await response.text()] as const;
  };
  const messages = [{ id: "m1", role: "user", parts: [{ type: "text", text: "Hi" }] }];
  expect(await post("/api/chat", { id: "a", messages })).toEqual([400, expect.stringContaining("agent_required")]);
  expect(await post("/api/chat", { id: "a", messages, agent: "chef" })).toEqual([
    200,
    expect.stringContaining("known."),
  ]);
  expect(await post("/api/chat", { id: "a", messages, agent: "cook" })).toEqual([
    409,
    expect.stringContaining("agent_"),
  ]);
  const { id } = JSON.parse((await post("/api/threads", {}))[1]) as { readonly id: string };
  expect((await post(`/api/threads/${id}/ask`, { content: "Hi" }))[0]).toBe(202);
  await server.process.wrote(new RegExp(`"agent":"clerk","threadId":"${id}"`));
});

test.each([
  [{}, ["--host", "0.0.0.0"], { HEDDLE_TOKEN: "" }, "token_missing"],
  [{}, [], { HEDDLE_DRAIN: "soon" }, "bad_usage"],
  [{}, [], { HEDDLE_CONCURRENCY: "0" }, "bad_usage"],
  [{}, [], { HEDDLE_STORE: "mysql://nowhere" }, "store_url_invalid"],
  [{ more: "export const chat = 5;" }, [], {}, "bad_usage"],
  [{ more: "export const host = { idleMS: 5 };" }, [], {}, "invalid_options"],
] as const)("refuses wrong settings: %j %j %j", async (file, args, env, code) => {
  const { code: exit, stderr } = await new Heddle(
    ["serve", "agent.mjs", "--port", "0", "--json", ...args],
    folder(file),
    {
      HEDDLE_TOKEN: TOKEN,
      ...env,
    },
  ).ended;
  expect(exit).toBe(2);
  expect(stderr).toContain(code);
});

test("after SIGTERM in mid-answer another process continues, and the request completes once", async () => {
  const cwd = folder({ isSlow: true });
  const env = {
    DATABASE_URL: inject("postgresUrl"),
    HEDDLE_TENANT: randomUUID(),
    HEDDLE_GRACE: "0",
    HEDDLE_DRAIN: "1",
  };
  const [one, two] = [await served(cwd, env), await served(cwd, env)];
  const streamed = (await one.say("Go.")).text();
  await until("the answer has begun", async () =>
    (await (await two.get("/api/chat/t/messages")).text()).includes("Go."),
  );
  one.process.child.kill("SIGTERM");
  await until("it is draining", async () => (await one.get("/readyz")).status === 503);
  expect((await one.get("/api/chat/t/messages")).status).toBe(200);
  expect((await two.get("/readyz")).status).toBe(200);
  expect((await one.process.ended).code).toBe(0);
  expect(await streamed).not.toContain('"type":"error"');
  const ends = one.log().filter(({ event }) => event === "request_suspended");
  expect(ends).toMatchObject([{ agent: "clerk", threadId: "t" }]);
  writeFileSync(join(cwd, "go"), "");
  await two.process.wrote(/request_completed/);
  const page = await (await two.get("/api/chat/t/messages")).text();
  expect(page.match(/known\./g)).toHaveLength(1);
  expect(two.log().filter(({ event }) => String(event).startsWith("request_"))).toHaveLength(2);
});

/** An agent whose tool never ends in the first process. */
const CHARGING = `
import { writeFileSync } from "node:fs";
import { defineAgent } from ${source("agent/definition/define-agent.ts")};
import { scriptedModel } from ${source("scripted-model/scripted-model.ts")};
const execute = () => {
  writeFileSync("charging", "");
  return new Promise(() => setInterval(() => undefined, 1000));
};
const call = { calls: [{ id: "call_1", name: "charge" }] };
const answer = ({ messages }) => (messages.at(-1).role === "tool" ? "I do not know." : call);
const model = scriptedModel([answer, answer]);
export const agent = defineAgent({ name: "clerk", model, tools: { charge: { inputSchema: { type: "object" }, execute } } });
`;

test("a call of a process that is killed in the middle of it is logged and counted by the next one", async () => {
  const cwd = fastFolder();
  writeFileSync(join(cwd, "agent.mjs"), CHARGING);
  const env = { DATABASE_URL: inject("postgresUrl"), HEDDLE_TENANT: randomUUID() };
  const one = await served(cwd, env);
  const lost = one.say("Charge.").then(
    (response) => response.text(),
    () => "cut off",
  );
  await until("the tool runs", async () => existsSync(join(cwd, "charging")));
  const two = await served(cwd, env);
  one.process.child.kill("SIGKILL");
  await lost.catch(() => undefined);
  await two.process.wrote(/request_completed/);
  expect(two.log().filter(({ event }) => event === "tool_interrupted")).toMatchObject([
    { level: "warn", agent: "clerk", threadId: "t", toolCallId: "call_1", toolName: "charge" },
  ]);
  expect(await (await two.get("/metrics")).text()).toContain(
    'heddle_tool_calls_total{agent="clerk",result="interrupted"} 1',
  );
});

test("is alive and not ready while its database cannot be reached", async () => {
  const proxy = await startProxy(inject("postgresUrl"));
  const server = await served(folder(), { HEDDLE_STORE: proxy.url, HEDDLE_TENANT: randomUUID() });
  expect((await server.get("/readyz")).status).toBe(200);
  proxy.refuse();
  const response = await server.get("/readyz");
  expect([response.status, await response.json()]).toEqual([
    503,
    { ready: false, why: expect.stringMatching(/^store_/) },
  ]);
  expect((await server.get("/healthz")).status).toBe(200);
  proxy.accept();
  await until("it is ready again", async () => (await server.get("/readyz")).status === 200);
});
