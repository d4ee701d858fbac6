import { copyFileSync } from "node:fs";
import { sqliteStore } from "heddle/sqlite";
import { note } from "heddle/testing";
import { expect, onTestFinished, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { plainConnect, recording } from "./support/recording.ts";
import { tamper } from "./support/sql.ts";

const ENTRIES = 10_000;
const refs = (n: number) => ({ requestId: `request_${Math.floor(n / 5)}`, callId: `call_${n}` });

async function longThread(connect = plainConnect()) {
  const path = fastFile();
  const store = sqliteStore(path, { mode: "relaxed", connect });
  onTestFinished(() => store.close());
  for (let from = 0; from < ENTRIES; from += 1000)
    await store.append(
      "long",
      Array.from({ length: 1000 }, (_, n) => note({}, { refs: refs(from + n) })),
    );
  return { path, store };
}

test.each([{}, { reverse: true }, { kinds: ["note"] }, { refs: { ...refs(4321) } }])(
  "the entries of a request are found in an index: %j",
  async (options) => {
    const { ran, connect, rowsReturned } = recording();
    const { path, store } = await longThread(connect);
    const before = rowsReturned();
    const found = await Array.fromAsync(store.read("long", { refs: { requestId: "request_864" }, ...options }));
    expect(found.map(({ seq }) => seq).toSorted()).toEqual("refs" in options ? [4321] : [4320, 4321, 4322, 4323, 4324]);
    expect(rowsReturned() - before).toBe(found.length);
    const plan = plainConnect()(path).prepare(`EXPLAIN QUERY PLAN ${ran.at(-1)}`);
    const places =
      ran
        .at(-1)
        ?.replaceAll(/'[^']*'/g, "")
        .split("?").length ?? 0;
    const steps = plan.all(...Array.from({ length: places }, () => "").slice(1));
    expect(steps.join()).toContain(
      "SEARCH e USING INDEX entries_by_request (thread=? AND <expr>=? AND seq>? AND seq<?)",
    );
    expect(steps.join()).not.toContain("TEMP B-TREE");
  },
);

test("an entry whose refs are damaged does not keep the file from opening, and is an error when it is read", async () => {
  const path = fastFile();
  copyFileSync(new URL("../../golden/sqlite-v1.db", import.meta.url), path); // the upgrade makes the index
  tamper(
    path,
    "UPDATE entries SET refs = 'x' WHERE seq = 5 AND thread = (SELECT key FROM threads WHERE id = 'counted')",
  );
  const store = sqliteStore(path);
  onTestFinished(() => store.close());
  expect(await store.verify("talk")).toMatchObject({ ok: true });
  expect(await store.verify("counted")).toMatchObject({ ok: false, bad: { seq: 5 } });
  await expect(store.load("counted")).rejects.toMatchObject({ code: "corrupt", seq: 5 });
  await expect(Array.fromAsync(store.read("counted", { refs: { callId: "none" } }))).resolves.toEqual([]);
  expect(await Array.fromAsync(store.read("talk", { refs: { requestId: "r1" } }))).toHaveLength(1);
});
