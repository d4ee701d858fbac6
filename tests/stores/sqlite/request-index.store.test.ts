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
    const steps = plan.all(...Array.from({ length: ran.at(-1)?.split("?").length ?? 0 }, () => "").slice(1));
    expect(steps.join()).toContain(
      "SEARCH e USING INDEX entries_by_request (thread=? AND <expr>=? AND seq>? AND seq<?)",
    );
    expect(steps.join()).not.toContain("TEMP B-TREE");
  },
);

test("an entry whose refs are damaged does not keep the file from opening, and is an error when it is read", async () => {
  const { path, store } = await longThread();
  await store.append("other", note());
  tamper(
    path,
    "DROP INDEX entries_by_request",
    "UPDATE entries SET refs = 'x' WHERE seq = 5",
    "PRAGMA user_version = 1",
  );
  tamper(path, "DROP INDEX threads_by_update", "DROP INDEX threads_by_creation");
  const reopened = sqliteStore(path);
  onTestFinished(() => reopened.close());
  expect(await reopened.verify("other")).toMatchObject({ ok: true });
  expect(await reopened.verify("long")).toMatchObject({ ok: false, bad: { seq: 5 } });
  await expect(Array.fromAsync(reopened.read("long", { refs: { callId: "none" } }))).resolves.toEqual([]);
  expect(await Array.fromAsync(reopened.read("long", { refs: refs(9999) }))).toHaveLength(1);
});
