import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { fastFolder } from "../support/temp-folder.ts";
import { run } from "./support/fake-io.ts";

/** A thread of eight entries, of which some were changed behind the store's back. */
async function damaged(...seqs: readonly number[]): Promise<string> {
  const cwd = fastFolder();
  await run(["ask", "What is 1 + 1?"], { cwd });
  await run(["ask", "-t", "last", "And times 3?"], { cwd });
  const file = new DatabaseSync(join(cwd, "heddle.db"));
  const change = file.prepare("UPDATE entries SET payload = payload || ' ' WHERE seq = ?");
  for (const seq of seqs) expect(change.run(seq).changes).toBe(1);
  file.close();
  return cwd;
}

async function shown(cwd: string, ...args: readonly string[]) {
  const { code, stdout, stderr } = await run(["show", "last", "--json", ...args], { cwd });
  const { entries, damaged: bad } = JSON.parse(stdout);
  return { code, seqs: entries.map(({ seq }: { seq: number }) => seq), bad, stderr };
}

test("a range without the damaged entry is shown", async () => {
  const cwd = await damaged(2);
  expect(await shown(cwd, "--to", "1")).toMatchObject({ code: 0, seqs: [0, 1] });
  expect(await shown(cwd, "--from", "3")).toMatchObject({ code: 0, seqs: [3, 4, 5, 6, 7] });
  expect(await shown(cwd, "-n", "1")).toMatchObject({ code: 0, seqs: [7] });
});

test("around damaged entries, also the last one, the good ones are shown, and the exit code is 1", async () => {
  const cwd = await damaged(2, 5, 7);
  expect(await shown(cwd, "--all")).toMatchObject({ code: 1, seqs: [0, 1, 3, 4, 6], bad: [2, 5, 7] });
  const { code, stdout, stderr } = await run(["show", "last"], { cwd });
  expect(code).toBe(1);
  expect(stdout).toContain("What is 1 + 1?");
  expect(stderr).toMatch(/entry 2 is damaged[\s\S]*entry 5 is damaged[\s\S]*entry 7 is damaged/);
});

test("the entries before the damaged one are forked", async () => {
  const cwd = await damaged(2);
  const { code, stdout, stderr } = await run(["fork", "last", "--at", "1"], { cwd });
  expect(code, stderr).toBe(0);
  const fork = await run(["show", stdout.trim(), "--to", "1"], { cwd });
  expect(fork).toMatchObject({ code: 0, stdout: expect.stringContaining("What is 1 + 1?") });
  expect(await run(["verify", stdout.trim()], { cwd })).toMatchObject({ code: 0 });
});
