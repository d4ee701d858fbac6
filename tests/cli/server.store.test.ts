import { writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { createServer, get } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { memoryStore } from "heddle";
import { expect, onTestFinished, test } from "vitest";
import { chargingAgent, takeOver } from "../studio/support/charging.ts";
import { started } from "../studio/support/client.ts";
import { fastFolder } from "../support/temp-folder.ts";
import { run } from "./support/fake-io.ts";

/** A Studio on the store of a folder; its address, with the token. */
async function studioIn(cwd: string, ...args: readonly string[]): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
  const studio = run(["studio", "--port", "0", "--json", ...args], {
    cwd,
    onWrite: (text, interrupt) => {
      if (!text.startsWith("{")) return;
      void isOver.then(interrupt);
      const { url, token } = JSON.parse(text) as { readonly url: string; readonly token: string };
      resolve(`${new URL(url).origin}/?token=${token}`);
    },
  });
  studio.catch(reject);
  onTestFinished(async () => {
    end();
    await studio;
  });
  return promise;
}

test("every command that looks says the same of a store and of the Studio that has it", async () => {
  const cwd = fastFolder();
  await run(["ask", "What is (17 + 25) * 3?"], { cwd });
  await run(["ask", "-t", "last", "And times 2?"], { cwd });
  const address = await studioIn(cwd);
  const looks = [
    ["threads", "--json"],
    ["show", "last", "--all"],
    ["calls", "last", "--json"],
    ["rebuild", "last", "last~1", "--json"],
    ["context", "last", "--at", "2", "--explain"],
    ["context", "last", "--policy", "short", "--provider", "gemini"],
    ["diff", "last"],
    ["export", "last", "--format", "json"],
  ];
  for (const args of looks) {
    const here = await run(args, { cwd });
    const there = await run([...args, "--server", address], { cwd: fastFolder() });
    expect(here.code, here.stderr).toBe(0);
    expect(there).toEqual(here);
  }
});

test("a Studio answers a proxy that keeps the name of the site, if --hosts has the name", async () => {
  const { origin } = new URL(await studioIn(fastFolder(), "--hosts", "threads.example.com, other.example.com"));
  const statusFor = async (host: string): Promise<number | undefined> => {
    const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
    get(origin, { headers: { host } }, (response) => resolve(response.resume().statusCode)).on("error", reject);
    return promise;
  };
  const names = ["threads.example.com", "other.example.com", "evil.example.com", new URL(origin).host];
  expect(await Promise.all(names.map(statusFor))).toEqual([200, 200, 403, 200]);
});

test("a Studio with a token is reached with it, a read-only one changes nothing, and refusals are printed", async () => {
  const cwd = fastFolder();
  const address = await studioIn(cwd, "--token", "a-good-token");
  const bare = new URL(address).origin;
  expect(address).toContain("a-good-token");
  expect(await run(["threads", "--server", bare], { cwd })).toMatchObject({
    code: 4,
    stderr: expect.stringContaining("token"),
  });
  expect(await run(["threads", "--server", bare, "--token", "a-good-token"], { cwd })).toMatchObject({ code: 0 });
  expect(await run(["ask", "What is 1 + 1?", "--server", address], { cwd })).toMatchObject({
    code: 0,
    stdout: "1 + 1 is **2**.\n",
  });
  expect(await run(["steer", "last", "hi", "--server", address], { cwd })).toMatchObject({
    code: 4,
    stderr: expect.stringContaining("no request"),
  });
  const readOnly = await studioIn(cwd, "--read-only");
  expect(await run(["ask", "What is 1 + 1?", "--server", readOnly], { cwd })).toMatchObject({
    code: 4,
    stderr: expect.stringContaining("read-only"),
  });
  expect(await run(["threads", "--server", "http://127.0.0.1:1"], { cwd })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("heddle studio"),
  });
});

test("a decision given by the store reaches the Studio that holds the thread, and the end is read from the log", async () => {
  const cwd = fastFolder();
  const address = await studioIn(cwd);
  expect(await run(["ask", "Send 20 euros to Ada.", "--server", address], { cwd })).toMatchObject({ code: 4 });
  const approved = await run(["approve", "last"], { cwd });
  expect(approved, approved.stderr).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("Done: 20 euros for Ada."),
  });
});

test("with --detach the Studio continues alone", async () => {
  const cwd = fastFolder();
  const address = await studioIn(cwd);
  await run(["ask", "Send 20 euros to Ada.", "--server", address], { cwd });
  const decided = await run(["approve", "last", "--detach", "--json", "--server", address], { cwd });
  expect(JSON.parse(decided.stdout)).toMatchObject({ verdict: "approve", toolCallId: "call_1" });
  const shown = await run(["show", "last", "--follow", "--server", address], {
    cwd,
    onWrite: (text, interrupt) => text.includes("Done: 20 euros") && interrupt(),
  });
  expect(shown.code).toBe(130);
  expect(await run(["approve", "last", "--detach"], { cwd })).toMatchObject({ code: 2 });
});

test("an import is streamed to a Studio, and one that is too large is reported with advice", async () => {
  const [cwd, elsewhere] = [fastFolder(), fastFolder()];
  const address = await studioIn(cwd);
  await run(["ask", "What is 1 + 1?"], { cwd: elsewhere });
  await run(["export", "last", "-o", "thread.jsonl"], { cwd: elsewhere });
  const terminal = { cwd: elsewhere, isTerminal: true, now: Date.now };
  const sent = await run(["import", "thread.jsonl", "--server", address], terminal);
  expect(sent, sent.stderr).toMatchObject({ code: 0, stderr: expect.stringMatching(/sending \S+ \d+\.\d MiB of/) });
  expect((await run(["verify", "--calls"], { cwd })).code).toBe(0);
  const piped = await run(["import", "--format", "neutral", "--server", address], {
    cwd,
    stdin: JSON.stringify([{ role: "user", content: "Hello" }]),
  });
  expect(piped, piped.stderr).toMatchObject({ code: 0 });
  const wrong = await run(["import", "--server", address], { cwd, stdin: "{" });
  expect(wrong).toMatchObject({ code: 2, stderr: "error: The input must be JSON.\n" });
});

test("a body that a server refuses for its size names the file, the limit and another way", async () => {
  const cwd = fastFolder();
  await writeFile(join(cwd, "long.jsonl"), "x".repeat(300_000));
  const server = createServer((incoming, outgoing) => {
    incoming.resume();
    outgoing.writeHead(413, { "content-type": "application/json" });
    outgoing.end(JSON.stringify({ error: { code: "body_too_large", message: "A body may have 9 MiB. Send less." } }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo; // it listens on a port
  const { code, stderr } = await run(["import", "long.jsonl", "--server", `http://127.0.0.1:${port}`], { cwd });
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr:
      "error: long.jsonl is larger than the 9 MiB that this Studio accepts. Import it where the store is: heddle import " +
      "long.jsonl --store <url>\n",
  });
});

test("a long export goes into a Studio elsewhere, as far as its limit for imports", async () => {
  const cwd = fastFolder();
  const list = Array.from({ length: 3000 }, (_, n) => ({
    role: n % 2 ? "assistant" : "user",
    content: "warp ".repeat(400),
  }));
  writeFileSync(join(cwd, "list.json"), JSON.stringify(list));
  const elsewhere = await studioIn(fastFolder());
  const args = ["import", "list.json", "--format", "neutral"];
  const { code, stdout, stderr } = await run([...args, "--server", elsewhere], { cwd });
  expect(code, stderr).toBe(0);
  const exported = await run(["export", stdout.trim(), "--server", elsewhere], { cwd });
  expect(exported.stdout.length).toBeGreaterThan(4 * 1024 * 1024);
  writeFileSync(join(cwd, "thread.jsonl"), exported.stdout);
  expect(await run(["import", "thread.jsonl", "--server", elsewhere], { cwd })).toMatchObject({ code: 0 });
  const small = await studioIn(fastFolder(), "--import-limit", "1");
  const refused = await run([...args, "--server", small], { cwd });
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain("1 MiB");
});

test.each([
  ["ask", ["ask", "Charge."], ""],
  ["chat", ["chat"], "Charge.\nAnd again.\n"],
])("%s ends with 5 when another process takes the request over, and says how to follow it", async (_, args, stdin) => {
  const store = memoryStore();
  const { agent, begun, charge } = chargingAgent();
  const { studio } = await started({ store, agent });
  const address = `${new URL(studio.url).origin}/?token=${studio.token}`;
  const ran = run([...args, "--server", address], { cwd: fastFolder(), stdin });
  await begun;
  const [thread] = (await store.list()).threads;
  const id = thread?.id ?? "";
  await takeOver(store, id);
  charge();
  const { code, stdout, stderr } = await ran;
  expect({ code, stdout }).toEqual({ code: 5, stdout: "" });
  expect(stderr).toContain("suspended: Another process (two) has claimed the thread");
  expect(stderr).toContain(`heddle show ${id} --follow`);
});

test("with --json the last line of a suspended request is its event", async () => {
  const store = memoryStore();
  const { agent, begun, charge } = chargingAgent();
  const { studio } = await started({ store, agent });
  const address = `${new URL(studio.url).origin}/?token=${studio.token}`;
  const ran = run(["ask", "Charge.", "--json", "--server", address], { cwd: fastFolder() });
  await begun;
  await takeOver(store, (await store.list()).threads[0]?.id ?? "");
  charge();
  const { code, stdout } = await ran;
  expect(code).toBe(5);
  expect(JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({
    kind: "request_suspended",
    data: { reason: "lost", holder: "two" },
  });
});

test("a server behind a path is called under that path", async () => {
  const paths: string[] = [];
  const proxy = createServer((request, response) => {
    paths.push(request.url ?? "");
    response.setHeader("content-type", "application/json").end('{"threads":[]}');
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void proxy.close());
  const origin = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`; // it listens on a port
  for (const path of ["/team/a", "/team/a/", "/", ""]) {
    const ran = await run(["threads", "--limit", "1", "--server", `${origin}${path}`], { cwd: fastFolder() });
    expect(ran, ran.stderr).toMatchObject({ code: 0 });
  }
  const query = "/api/threads?order=updated&limit=1";
  expect(paths).toEqual([`/team/a${query}`, `/team/a${query}`, query, query]);
});
