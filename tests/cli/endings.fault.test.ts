import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { fastFolder } from "../support/temp-folder.ts";
import { run } from "./support/fake-io.ts";
import { Heddle, heddle } from "./support/process.ts";

const QUICK = { HEDDLE_DEMO_WORD_MS: "0" };
const STORY = "Tell me the history of weaving, chapter by chapter.";

async function threadsIn(cwd: string): Promise<readonly { id: string; status: string; rev: number }[]> {
  return JSON.parse((await heddle(["threads", "--json"], cwd)).stdout).threads;
}

test("SIGTERM is like Ctrl-C and ends with 143: the partial answer is kept, and the thread continues", async () => {
  const cwd = fastFolder();
  const asked = new Heddle(["ask", STORY], cwd, { HEDDLE_DEMO_WORD_MS: "60" });
  await asked.wrote(/the first loom/);
  asked.child.kill("SIGTERM");
  expect(await asked.ended).toMatchObject({ code: 143, stderr: expect.stringContaining("Cancelled.") });
  expect(await threadsIn(cwd)).toMatchObject([{ status: "cancelled" }]);
  const shown = new Heddle(["show", "last", "--follow", "--from", "0"], cwd);
  await shown.wrote(/the first loom/);
  shown.child.kill("SIGTERM");
  expect(await shown.ended).toMatchObject({ code: 143 });
  expect(await heddle(["ask", "-t", "last", "What is 2 + 2?"], cwd, QUICK)).toMatchObject({ code: 0 });
});

test("a second Ctrl-C leaves at once, and the next ask finds a legal thread", async () => {
  const cwd = fastFolder();
  const asked = new Heddle(["ask", STORY], cwd, { HEDDLE_DEMO_WORD_MS: "60" });
  await asked.wrote(/the first loom/);
  asked.child.kill("SIGINT");
  await asked.wrote(/Cancelling/);
  asked.child.kill("SIGINT");
  expect(await asked.ended).toMatchObject({ code: 130 });
  expect(await heddle(["verify", "--calls"], cwd)).toMatchObject({ code: 0 });
});

test("a thread that another process is running is reported with advice for the command line, and not changed", async () => {
  const cwd = fastFolder();
  const first = new Heddle(["ask", STORY], cwd, { HEDDLE_DEMO_WORD_MS: "500" });
  await first.wrote(/Chapter/);
  const second = await heddle(["ask", "-t", "last", "What is 1 + 1?"], cwd, QUICK);
  expect(second).toMatchObject({ code: 4, stdout: "", stderr: expect.stringContaining("heddle show thread_") });
  expect(second.stderr).not.toContain("claim");
  for (const [args, code] of [
    [["summarize", "last"], 4],
    [["approve", "last"], 4],
  ] as const) {
    expect(await heddle(args, cwd, QUICK), args[0]).toMatchObject({ code });
  }
  expect(await threadsIn(cwd)).toMatchObject([{ status: "running", rev: 1 }]);
  first.child.kill("SIGINT");
  expect(await first.ended).toMatchObject({ code: 130 });
});

test("text and a cancel reach a request that another process runs, through the store", async () => {
  const cwd = fastFolder();
  expect(await heddle(["ask", "What is 1 + 1?"], cwd, QUICK)).toMatchObject({ code: 0 });
  expect(await heddle(["steer", "last", "In euros."], cwd)).toMatchObject({ code: 4 });
  const asked = new Heddle(["ask", "Add up the numbers from 1 to 60, one call at a time."], cwd, {
    HEDDLE_DEMO_WORD_MS: "60", // on a busy machine each command takes seconds, and the request must not end before
  });
  await asked.wrote(/← /);
  expect(await heddle(["steer", "last", STORY], cwd)).toMatchObject({ code: 0, stdout: "" });
  await expect.poll(async () => (await heddle(["show", "last", "--all"], cwd)).stdout).toContain(STORY);
  expect(await heddle(["cancel", "last", "--reason", "enough"], cwd)).toMatchObject({ code: 0 });
  expect(await asked.ended).toMatchObject({ code: 1, stderr: expect.stringContaining("Cancelled") });
  expect(await heddle(["cancel", "last"], cwd)).toMatchObject({ code: 4 });

  const dies = new Heddle(["ask", STORY], cwd, { HEDDLE_DEMO_WORD_MS: "500" });
  await dies.wrote(/Chapter/);
  dies.child.kill("SIGKILL");
  await dies.ended;
  const left = await heddle(["show", "last", "--all"], cwd);
  for (const args of [
    ["cancel", "last"],
    ["steer", "last", "Stop."],
  ]) {
    const { code, stderr } = await heddle(args, cwd);
    expect([code === 2 || code === 4, stderr], stderr).toEqual([
      true,
      expect.stringMatching(/has died|Another process/),
    ]);
  }
  expect(await heddle(["show", "last", "--all"], cwd)).toEqual(left); // it waits for a process that resumes it
});

test("a reader that closes the pipe early ends a command in peace, also in the middle of long data", async () => {
  const cwd = fastFolder();
  const many = Array.from({ length: 4000 }, (_, index) => ({
    role: index % 2 ? "assistant" : "user",
    content: `${index} ${"x".repeat(200)}`,
  }));
  writeFileSync(join(cwd, "many.json"), JSON.stringify(many));
  await heddle(["import", "many.json", "--format", "neutral"], cwd);
  for (const args of [
    ["show", "last", "--all"],
    ["export", "last"],
    ["context", "last", "--policy", "long"],
    ["show", "last", "--all", "--json"],
  ]) {
    const cut = new Heddle(args, cwd);
    cut.child.stdout?.once("data", () => cut.child.stdout?.destroy());
    const { code, stderr } = await cut.ended;
    expect({ code, stderr }, args.join(" ")).toMatchObject({ code: 0, stderr: expect.not.stringContaining("error") });
  }
});

test("a file that is not a store, of another program or of a newer Heddle is refused with a clear message and not changed", async () => {
  const cwd = fastFolder();
  await heddle(["ask", "What is 1 + 1?"], cwd, QUICK);
  writeFileSync(join(cwd, "text.db"), "no database at all, but long enough to be looked at".repeat(50));
  new DatabaseSync(join(cwd, "other.db")).exec("CREATE TABLE x (a); PRAGMA user_version = 3");
  const newer = new DatabaseSync(join(cwd, "heddle.db"));
  newer.exec("PRAGMA user_version = 9999; PRAGMA wal_checkpoint(TRUNCATE)");
  newer.close();
  for (const [file, words] of [
    ["text.db", "not a SQLite database"],
    ["other.db", "another program"],
    ["heddle.db", "Update Heddle"],
  ] as const) {
    const before = readFileSync(join(cwd, file));
    for (const args of [["threads"], ["ask", "What is 1 + 1?"], ["verify"], ["studio", "--port", "0"]]) {
      const { code, stdout, stderr } = await run([...args, "--store", `sqlite:${file}`], { cwd });
      expect({ code, stdout }, stderr).toEqual({ code: 1, stdout: "" });
      expect(stderr).toContain(words);
    }
    expect(readFileSync(join(cwd, file)).equals(before), file).toBe(true);
  }
});

test("an import that is interrupted takes back what it had written, an export leaves no file", async () => {
  const cwd = fastFolder();
  const many = Array.from({ length: 9000 }, (_, index) => ({
    role: index % 2 ? "assistant" : "user",
    content: `${index}`,
  }));
  writeFileSync(join(cwd, "many.json"), JSON.stringify(many));
  let time = 0;
  const now = (): number => (time += 1000);
  const onWrite = (text: string, interrupt: () => void): void => {
    if (/(importing|exporting)/.test(text)) interrupt();
  };
  const terminal = { cwd, isTerminal: true, now, onWrite };
  const args = ["import", "many.json", "--format", "neutral"];
  expect(await run(args, terminal)).toMatchObject({ code: 130, stdout: "" });
  expect(await threadsIn(cwd)).toEqual([]);
  expect(await run(args, { cwd })).toMatchObject({ code: 0 });
  expect(await run(["export", "last", "-o", "out.jsonl"], terminal)).toMatchObject({ code: 130 });
  expect(existsSync(join(cwd, "out.jsonl")) || existsSync(join(cwd, "out.jsonl.part"))).toBe(false);
});
