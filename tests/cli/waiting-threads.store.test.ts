import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { AgentHost } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { fastFolder } from "../support/temp-folder.ts";
import { type FakeOptions, run } from "./support/fake-io.ts";

const FROM = (file: string) => JSON.stringify(new URL(`../../src/${file}`, import.meta.url).href);

/** A folder with an agent whose tool `pay` needs approval. */
function folder(busy: "reject" | "queue", execute = `() => "paid"`): string {
  const cwd = fastFolder();
  const text = `
    import { defineAgent } from ${FROM("index.ts")};
    import { scriptedModel } from ${FROM("testing.ts")};
    const pay = { inputSchema: { type: "object" }, needsApproval: ${execute.includes("paid")}, execute: ${execute} };
    const answer = ({ messages }) => {
      const last = JSON.stringify(messages.at(-1));
      if (messages.at(-1).role === "tool") return "Done.";
      return last.includes("pay") ? { calls: [{ name: "pay" }] } : "I heard you.";
    };
    export default defineAgent({
      name: "payer",
      busy: ${JSON.stringify(busy)},
      tools: { pay },
      model: scriptedModel(Array(50).fill(answer), { order: "any" }),
    });`;
  writeFileSync(join(cwd, "agent.ts"), text);
  return cwd;
}

const AGENT = ["--agent", "agent.ts"];
/** In a month. */
const LATER = new Date(Date.now() + 30 * 86_400_000).toISOString();

describe("an ask on a thread whose request waits for approval", () => {
  test("is withdrawn in a pipe, and the command for the decision is named", async () => {
    const cwd = folder("queue");
    expect(await run(["ask", "pay", ...AGENT], { cwd })).toMatchObject({ code: 4 });
    const second = await run(["ask", "second", "--thread", "last", ...AGENT], { cwd });
    expect(second).toMatchObject({ code: 4, stdout: "" });
    expect(second.stderr).toMatch(/The ask was withdrawn[\s\S]*pay \{\} waits for approval: heddle approve thread_/);
    expect((await run(["show", "last"], { cwd })).stdout).not.toContain("second");
    expect(await run(["approve", "last", ...AGENT], { cwd })).toMatchObject({ code: 0, stdout: "Done.\n" });
    expect((await run(["show", "last"], { cwd })).stdout).not.toContain("second");
  });

  test("ends JSON Lines with the calls that wait", async () => {
    const cwd = folder("queue");
    const first = await run(["ask", "pay", "--json", ...AGENT], { cwd });
    const { requestId } = JSON.parse(first.stdout.split("\n")[0] ?? "");
    const { code, stdout } = await run(["ask", "second", "-t", "last", "--json", ...AGENT], { cwd });
    expect(code).toBe(4);
    expect(JSON.parse(stdout)).toMatchObject({ kind: "waiting", requestId, waiting: [{ name: "pay" }] });
  });

  test("gets its turn at a terminal after the decision", async () => {
    const cwd = folder("queue");
    await run(["ask", "pay", ...AGENT], { cwd });
    const second = await run(["ask", "second", "-t", "last", ...AGENT], { cwd, answers: ["y"] });
    expect(second).toMatchObject({ code: 0, stdout: "I heard you.\n" });
  });

  test("is refused by an agent that queues none, with the same commands", async () => {
    const cwd = folder("reject");
    await run(["ask", "pay", ...AGENT], { cwd });
    const text = await run(["ask", "second", "-t", "last", ...AGENT], { cwd });
    expect(text).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(/waits for approval: heddle approve thread_/),
    });
    expect(text.stderr).not.toContain("A request runs");
    const json = await run(["ask", "second", "-t", "last", "--json", ...AGENT], { cwd });
    expect(JSON.parse(json.stderr)).toMatchObject({
      error: { code: "busy", message: expect.stringContaining("heddle deny") },
    });
  });
});

describe("an ask that waits for its turn", () => {
  /** Two asks in one thread: the second one waits until the tool of the first one ends. */
  async function asked(second: readonly string[], options: Omit<FakeOptions, "cwd"> = {}) {
    const gate = Promise.withResolvers<string>();
    const began = Promise.withResolvers<void>();
    Object.assign(globalThis, { heddleGate: { began: began.resolve, end: gate.promise } });
    const cwd = folder("queue", "() => (heddleGate.began(), heddleGate.end)");
    const first = run(["ask", "pay", ...AGENT], { cwd });
    await began.promise;
    const waits = await run([...second, ...AGENT], { cwd, ...options });
    gate.resolve("done");
    expect(await first).toMatchObject({ code: 0, stdout: "Done.\n" });
    return { waits, shown: (await run(["show", "last"], { cwd })).stdout };
  }

  test("is withdrawn by Ctrl-C, and never runs", async () => {
    const onWrite: FakeOptions["onWrite"] = (text, interrupt) => text.includes("waits for its turn") && interrupt();
    const { waits, shown } = await asked(["ask", "second", "-t", "last"], { onWrite });
    expect(waits).toMatchObject({ code: 130, stdout: "", stderr: expect.stringContaining("Cancelled") });
    expect(shown).not.toContain("second");
  });

  test("is withdrawn by /cancel in a chat", async () => {
    const onWrite: FakeOptions["onWrite"] = (text, _interrupt, type) => text.includes("its turn") && type("/cancel");
    const { waits, shown } = await asked(["chat", "-t", "last"], { onWrite, answers: ["second", "", ""] });
    expect(waits, waits.stderr).toMatchObject({ stdout: "", stderr: expect.stringContaining("did not begin") });
    expect(shown).not.toContain("second");
  });

  test("ends JSON Lines with a terminal event after Ctrl-C", async () => {
    const onWrite: FakeOptions["onWrite"] = (text, interrupt) => text.includes("waits for its turn") && interrupt();
    const { waits } = await asked(["ask", "second", "-t", "last", "--json"], { onWrite });
    expect(JSON.parse(waits.stdout)).toMatchObject({ kind: "request_cancelled" });
    expect(waits.code).toBe(130);
  });
});

describe("cancel of a request that waits for approval", () => {
  test("is taken by a process that serves the agent, without its module here", async () => {
    const cwd = folder("reject");
    await run(["ask", "pay", ...AGENT], { cwd });
    const store = sqliteStore(join(cwd, "heddle.db"));
    const { default: agent } = await import(pathToFileURL(join(cwd, "agent.ts")).href);
    const host = AgentHost.create({ agent, store });
    onTestFinished(async () => {
      await host.stop();
      await store.close();
    });
    host.work();
    expect(await run(["cancel", "last", "--reason", "late"], { cwd })).toMatchObject({ code: 0 });
    expect((await run(["show", "last"], { cwd })).stdout).toContain("late");
  });

  test("names --agent where no process serves the agent, leaves nothing behind, and works with it", async () => {
    const cwd = folder("reject");
    await run(["ask", "pay", ...AGENT], { cwd });
    const alone = await run(["cancel", "last"], { cwd });
    expect(alone).toMatchObject({ code: 2, stderr: expect.stringMatching(/heddle cancel thread_\S+ --agent <file>/) });
    expect((await run(["show", "last"], { cwd })).stdout).not.toContain("waiting");
    expect(await run(["cancel", "last", ...AGENT], { cwd })).toMatchObject({ code: 0, stderr: "Cancelled.\n" });
    expect(await run(["cancel", "last", ...AGENT], { cwd })).toMatchObject({ code: 4 });
  });
});

describe("cancel of asks that wait in the inbox", () => {
  /** Asks with a time, on a thread without entries. */
  async function scheduled(...ids: readonly string[]): Promise<string> {
    const cwd = folder("reject");
    const store = sqliteStore(join(cwd, "heddle.db"));
    for (const id of ids) await store.post("night", { id, type: "ask", content: id, at: LATER });
    await store.close();
    return cwd;
  }

  test("withdraws the only one, also on a thread without entries", async () => {
    const cwd = await scheduled("r1");
    expect(await run(["cancel", "night"], { cwd })).toMatchObject({ code: 0, stderr: "Cancelled.\n" });
    expect(await run(["cancel", "night"], { cwd })).toMatchObject({ code: 3 });
  });

  test("withdraws the one that is named, and asks for a name where several wait", async () => {
    const cwd = await scheduled("r1", "r2");
    const several = await run(["cancel", "night"], { cwd });
    expect(several).toMatchObject({ code: 2, stderr: expect.stringContaining("heddle cancel night r2") });
    expect(await run(["cancel", "night", "none"], { cwd })).toMatchObject({ code: 4 });
    expect(await run(["cancel", "night", "r1"], { cwd })).toMatchObject({ code: 0 });
    const { stdout } = await run(["show", "night", "--json"], { cwd });
    expect(JSON.parse(stdout).waiting).toMatchObject([{ id: "r2" }]);
  });

  test("does not touch them while a request is open", async () => {
    const cwd = folder("reject");
    const { stdout } = await run(["ask", "pay", "--json", ...AGENT], { cwd });
    const { threadId, requestId } = JSON.parse(stdout.split("\n")[0] ?? "");
    const store = sqliteStore(join(cwd, "heddle.db"));
    await store.post(threadId, { id: "r1", type: "ask", content: "later", at: LATER });
    await store.close();
    expect(await run(["cancel", threadId, requestId, ...AGENT], { cwd })).toMatchObject({ code: 0 });
    expect((await run(["show", threadId], { cwd })).stdout).toContain("later");
    expect(await run(["cancel", threadId], { cwd })).toMatchObject({ code: 0 });
    expect((await run(["show", threadId], { cwd })).stdout).not.toContain("later");
  });
});

test("a thread that was exported while a call waits waits after the import, and is decided there", async () => {
  const [from, to] = [folder("reject"), folder("reject")];
  await run(["ask", "pay", ...AGENT], { cwd: from });
  expect(await run(["export", "last", "-o", join(to, "thread.jsonl")], { cwd: from })).toMatchObject({ code: 0 });
  await run(["import", "thread.jsonl"], { cwd: to });
  const { stdout } = await run(["threads", "--status", "waiting", "--json"], { cwd: to });
  expect(JSON.parse(stdout).threads).toMatchObject([{ status: "waiting" }]);
  const store = sqliteStore(join(to, "heddle.db"));
  expect((await store.waiting()).calls).toMatchObject([{ kind: "approval", body: { agent: "payer", name: "pay" } }]);
  await store.close();
  expect(await run(["approve", "last", ...AGENT], { cwd: to })).toMatchObject({ code: 0, stdout: "Done.\n" });
});

test("export warns of commands that wait, which it leaves out", async () => {
  const cwd = folder("reject");
  const asked = await run(["ask", "Hello", "--json", ...AGENT], { cwd });
  const { threadId } = JSON.parse(asked.stdout.split("\n")[0] ?? "");
  const store = sqliteStore(join(cwd, "heddle.db"));
  for (const id of ["r1", "r2"]) await store.post(threadId, { id, type: "ask", content: id, at: LATER });
  await store.post("night", { id: "r3", type: "ask", content: "r3", at: LATER });
  await store.close();
  const { code, stdout, stderr } = await run(["export", threadId], { cwd });
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringMatching(/^warning: 2 commands wait in the inbox.*not in the export/),
  });
  expect(stdout).not.toContain("r1");
  const empty = await run(["export", "night"], { cwd });
  expect(empty).toMatchObject({ code: 3, stdout: "", stderr: expect.stringMatching(/no entries.*1 command waits/) });
});
