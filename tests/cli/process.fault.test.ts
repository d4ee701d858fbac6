import { readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { projectFromStore, type ThreadStore } from "heddle";
import { validateMessages } from "heddle/providers";
import { expect, onTestFinished, test } from "vitest";
import { openAt } from "../support/open-at.ts";
import { fastFolder } from "../support/temp-folder.ts";
import { AGENT } from "./support/examples.ts";
import { Heddle, heddle } from "./support/process.ts";

const ESCAPE = "\u001b";
/** Told for so long that it is still at work when the next command has started. */
const STORY = "Tell me the history of weaving, chapter by chapter.";
const QUICK = { HEDDLE_DEMO_WORD_MS: "0" };

async function storeIn(cwd: string): Promise<ThreadStore> {
  const store = await openAt(`sqlite:${join(cwd, "heddle.db")}`);
  onTestFinished(() => store.close());
  return store;
}

test("in a pipe the answer alone is on stdout, and notes about it are on stderr, without color", async () => {
  const cwd = fastFolder();
  const { code, stdout, stderr } = await heddle(["ask", "What is (17 + 25) * 3?"], cwd, QUICK);
  expect({ code, stdout }).toEqual({ code: 0, stdout: "(17 + 25) * 3 is **126**.\n" });
  expect(stderr).toContain("offline demo");
  expect(stderr).toContain("calculator");
  expect(stdout + stderr).not.toContain(ESCAPE);
});

test("FORCE_COLOR paints a pipe; NO_COLOR and --no-color win over it", async () => {
  const cwd = fastFolder();
  await heddle(["ask", "What is 1 + 1?"], cwd, QUICK);
  const show = (args: readonly string[], env: { readonly [name: string]: string }) =>
    heddle(["show", "last", ...args], cwd, env);
  const [forced, off, flag] = await Promise.all([
    show([], { FORCE_COLOR: "1" }),
    show([], { FORCE_COLOR: "1", NO_COLOR: "1" }),
    show(["--no-color"], { FORCE_COLOR: "1" }),
  ]);
  expect(forced.stdout).toContain(ESCAPE);
  expect(off.stdout + off.stderr + flag.stdout + flag.stderr).not.toContain(ESCAPE);
});

test("what is piped in is asked, and JSON Lines end with the one terminal event", async () => {
  const asked = new Heddle(["ask", "--json"], fastFolder(), QUICK).say("What is 6 * 7?\n");
  const { code, stdout } = await asked.ended;
  const events = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(code).toBe(0);
  expect(events[0]).toMatchObject({ kind: "request", threadId: expect.stringMatching(/^thread_/) });
  expect(events.filter(({ kind }) => /^request_(completed|failed|cancelled)$/.test(kind))).toEqual([events.at(-1)]);
  expect(events.at(-1)).toMatchObject({ kind: "request_completed", data: { text: "6 * 7 is **42**." } });
});

test("Ctrl-C in the middle of an answer cancels it, keeps the text so far, and leaves a legal thread", async () => {
  const cwd = fastFolder();
  const asked = new Heddle(["ask", "Tell me the history of weaving, chapter by chapter."], cwd, {
    HEDDLE_DEMO_WORD_MS: "60",
  });
  await asked.wrote(/the first loom/);
  asked.child.kill("SIGINT");
  const { code, stdout, stderr } = await asked.ended;
  expect(code, stderr).toBe(130);
  expect(stdout).toContain("Chapter 1");
  const store = await storeIn(cwd);
  const { threads } = await store.list();
  expect(threads[0]?.status).toBe("cancelled");
  const id = threads[0]?.id ?? "";
  const { messages } = await projectFromStore(store, id);
  expect(messages.at(-1)).toMatchObject({ role: "assistant", content: expect.stringContaining("Chapter 1") });
  for (const provider of ["openai-chat", "openai-responses", "anthropic", "gemini"] as const)
    expect(validateMessages(messages.slice(0, -1), provider)).toEqual([]);
  const next = await heddle(["ask", "--thread", "last", "What is 2 + 2?"], cwd, QUICK);
  expect(next).toMatchObject({ code: 0, stdout: "2 + 2 is **4**.\n" });
});

test("a worker runs posted asks; what a killed one has left, another one finishes; SIGTERM ends it with 0", async () => {
  const cwd = fastFolder();
  const store = await storeIn(cwd);
  const exporting = (name: string, script: string): void =>
    writeFileSync(
      join(cwd, name),
      AGENT.replace(/model: .*\n/, `model: scriptedModel(${script}, { order: "any" }),\n`),
    );
  exporting("slow.ts", '[{ text: "Co", hang: true }]');
  exporting("quick.ts", '["Cold.", "Cold."]');
  const statusOf = async (id: string) => (await store.load(id))?.metadata["status"];
  await store.post("thread_1", { id: "req_1", type: "ask", content: "How warm is it?" });
  const slow = new Heddle(["worker", "slow.ts"], cwd);
  await expect.poll(() => statusOf("thread_1")).toBe("running");
  slow.child.kill("SIGKILL");
  await slow.ended;
  const quick = new Heddle(["worker", "quick.ts", "--concurrency", "1", "--json"], cwd);
  await store.post("thread_2", { id: "req_2", type: "ask", content: "And now?" });
  for (const id of ["thread_1", "thread_2"]) await expect.poll(() => statusOf(id)).toBe("completed");
  quick.child.kill("SIGTERM");
  const { code, stdout, stderr } = await quick.ended;
  expect(code, stderr).toBe(0);
  expect(JSON.parse(stdout)).toEqual({ agents: ["sensors"], store: "sqlite", concurrency: 1 });
});

test("Ctrl-C stops a Studio, and it has printed one address", async () => {
  const cwd = fastFolder();
  const studio = new Heddle(["studio", "--port", "0"], cwd, QUICK);
  await studio.wrote(/http:/);
  studio.child.kill("SIGINT");
  expect(await studio.ended).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/#\/enter\/[\w-]+\n$/),
  });
  expect(readdirSync(cwd)).toContain("heddle.db");
});

test("the reader of stdout may close it: that is not an error", async () => {
  const cwd = fastFolder();
  await heddle(["ask", "What is 1 + 1?"], cwd, QUICK);
  const shown = new Heddle(["show", "last", "--follow"], cwd);
  shown.child.stdout?.destroy();
  const more = await heddle(["ask", "-t", "last", "And times 2?"], cwd, QUICK);
  expect(more.code).toBe(0);
  expect(await shown.ended).toMatchObject({ code: 0, stderr: expect.not.stringContaining("error") });
});

test("a missing store is an error that says how to begin, and no file is made", async () => {
  const cwd = fastFolder();
  for (const args of [["threads"], ["show", "last"], ["verify"], ["fork", "last"], ["export", "last"]]) {
    const { code, stdout, stderr } = await heddle(args, cwd);
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(stderr).toContain("heddle ask");
  }
  expect(readdirSync(cwd)).toEqual([]);
});

test("a port in use says which, and how to change it", async () => {
  const cwd = fastFolder();
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const { code, stderr } = await heddle(["studio", "--port", String(port)], cwd);
  expect(code).toBe(4);
  expect(stderr).toContain(`Port ${port} of 127.0.0.1 is in use`);
  expect(stderr).toContain("--port");
});

test("an approval is not waited for in a pipe: the command prints how to continue, and another process does", async () => {
  const cwd = fastFolder();
  const asked = await heddle(["ask", "Send 20 euros to Ada."], cwd, QUICK);
  expect(asked).toMatchObject({ code: 4, stdout: "", stderr: expect.stringContaining("heddle approve thread_") });
  const approved = await heddle(["approve", "last"], cwd, QUICK);
  expect(asked.stderr).toContain('send_money {"to":"Ada","euros":20} waits for approval: ');
  expect(approved.stderr).toContain('approve: send_money {"to":"Ada","euros":20}');
  expect(approved).toMatchObject({ code: 0, stdout: expect.stringContaining("Done: 20 euros for Ada.") });
});

const HEDDLE_TOKEN = "a-token-of-the-tests";

test("steer and cancel reach the request that a Studio runs", async () => {
  const cwd = fastFolder();
  const studio = new Heddle(["studio", "--port", "0"], cwd, { HEDDLE_DEMO_WORD_MS: "300", HEDDLE_TOKEN });
  await studio.wrote(/http:\S+\n/);
  const env = { HEDDLE_SERVER: studio.stdout.trim(), HEDDLE_TOKEN };
  const asked = new Heddle(["ask", "Add up the numbers from 1 to 60, one call at a time."], cwd, env);
  await asked.wrote(/← /);
  expect(await heddle(["steer", "last", STORY], cwd, env)).toMatchObject({ code: 0 });
  // A message that waits for the next step is dropped with a cancel.
  await expect.poll(async () => (await heddle(["show", "last", "--all"], cwd, env)).stdout).toContain(STORY);
  expect(await heddle(["cancel", "last"], cwd, env)).toMatchObject({ code: 0 });
  expect(await asked.ended).toMatchObject({ code: 1, stderr: expect.stringContaining("Cancelled") });
  expect(await heddle(["cancel", "last"], cwd, env)).toMatchObject({ code: 4 });
});

test("nothing of a secret is repeated, in whatever way a command fails", async () => {
  const cwd = fastFolder();
  const secret = "a-secret-that-nobody-may-see-0123456789";
  writeFileSync(join(cwd, "token.txt"), "rt2.nonsense.nonsense");
  const env = {
    HEDDLE_TOKEN_SECRET: secret,
    HEDDLE_TOKEN: secret,
    HEDDLE_SERVER: `http://127.0.0.1:1/?token=${secret}`,
  };
  const ends = await Promise.all([
    heddle(["threads"], cwd, env),
    heddle(["threads", "--store", `postgres://somebody:${secret}@127.0.0.1:1/none`], cwd, env),
    heddle(["threads", "--store", `mysql://somebody:${secret}@127.0.0.1/none`], cwd, env),
    heddle(["token", "rt2.bm9uc2Vuc2U.bm9uc2Vuc2U"], cwd, env),
  ]);
  for (const { code, stdout, stderr } of ends) {
    expect(code).toBeGreaterThan(0);
    expect(stderr).toContain("error:");
    expect(stdout + stderr).not.toContain(secret);
  }
});
