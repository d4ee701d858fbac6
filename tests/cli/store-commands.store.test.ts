import { join } from "node:path";
import { AgentHost, defineAgent, defineTool } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { scriptedModel } from "heddle/testing";
import { expect, test } from "vitest";
import { fastFolder } from "../support/temp-folder.ts";
import { run } from "./support/fake-io.ts";

/** A folder with two threads that wait for an approval, and a fork of each. */
async function folder(): Promise<string> {
  const cwd = fastFolder();
  const store = sqliteStore(join(cwd, "heddle.db"));
  const call = {
    calls: [{ name: "pay", arguments: { to: "Ada\u202e" } }],
    usage: { inputTokens: 7, outputTokens: 5 },
  };
  const pay = defineTool({ inputSchema: { type: "object" }, needsApproval: true, execute: () => "paid" });
  const agent = defineAgent({ name: "payer", tools: { pay }, model: scriptedModel([call, call]) });
  const host = AgentHost.create({ agent, store });
  for (const id of ["one", "two"]) {
    const request = await host.ask(id, "pay", { owner: id });
    for await (const _event of request.events({ until: "waiting" }));
    await store.fork(id, { atSeq: 0, newId: `${id}_fork` });
  }
  await host.stop();
  await store.close();
  return cwd;
}

test("heddle waiting lists the calls of all threads, the longest wait first", async () => {
  const cwd = await folder();
  const { code, stdout } = await run(["waiting"], { cwd });
  expect(code).toBe(0);
  expect(stdout.trimEnd().split("\n")).toMatchObject([
    expect.stringMatching(/^one .* approval +payer .*pay \{"to":"Ada\\u202e"\}$/),
    expect.stringMatching(/^two /),
  ]);
  const first = await run(["waiting", "--limit", "1", "--json"], { cwd });
  expect(JSON.parse(first.stdout)).toMatchObject({ calls: [{ threadId: "one", name: "pay" }], more: true });
  const none = await run(["waiting", "--kind", "answer"], { cwd });
  expect(none).toMatchObject({ code: 0, stdout: "", stderr: "No call waits.\n" });
  expect(await run(["waiting", "--kind", "approvals"], { cwd })).toMatchObject({ code: 2 });
});

test("heddle usage lists tokens by day and model, of all or of one thread", async () => {
  const cwd = await folder();
  const all = JSON.parse((await run(["usage", "--json"], { cwd })).stdout);
  expect(all.days).toMatchObject([{ asks: 2, models: [{ calls: 2, inputTokens: 14, outputTokens: 10 }] }]);
  const one = await run(["usage", "one", "--since", "2026-01-01"], { cwd });
  expect(one.stdout).toMatch(/^\d{4}-\d\d-\d\d {2}.* {2}1 {2}7 {2}0 {2}0 {2}5 {2}0\n$/);
  expect(one.stderr).toContain("1 ask on 1 day.");
  expect(await run(["usage", "--owner", "eve"], { cwd })).toMatchObject({ stdout: "", stderr: "No usage.\n" });
  expect(await run(["usage", "--since", "yesterday"], { cwd })).toMatchObject({ code: 2 });
});

test("heddle delete asks first, and needs --yes in a pipe", async () => {
  const cwd = await folder();
  const refused = await run(["delete", "one"], { cwd });
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("Add --yes.") });
  expect(await run(["delete", "one"], { cwd, answers: ["n"] })).toMatchObject({ code: 4 });
  expect((await run(["threads"], { cwd })).stdout).toContain("one");
  expect(await run(["delete", "one"], { cwd, answers: ["y"] })).toMatchObject({ code: 0 });
  expect((await run(["waiting"], { cwd })).stdout).not.toContain("one");
  expect(await run(["delete", "one", "--yes"], { cwd })).toMatchObject({ code: 3 });
});

test("heddle delete names the forks that keep entries, and deletes them with --forks", async () => {
  const cwd = await folder();
  const kept = await run(["delete", "one", "--yes"], { cwd });
  expect(kept).toMatchObject({ code: 0, stderr: "1 thread deleted. Entries stay for one_fork.\n" });
  const { stdout } = await run(["delete", "two", "--yes", "--forks", "--json"], { cwd });
  expect(JSON.parse(stdout)).toEqual({ deleted: ["two", "two_fork"], keptFor: [] });
});
