import { note } from "heddle/testing";
import { expect, test } from "vitest";
import { REQUEST_KEY_OF_ENTRY } from "../../../src/stores/postgres/schema/v2.ts";
import { openStore, rawConnection } from "./open.ts";

test("the entries of a request are found in an index", async () => {
  const store = openStore({ mode: "relaxed" });
  for (let from = 0; from < 6000; from += 1000)
    await store.append(
      "long",
      Array.from({ length: 1000 }, (_, n) =>
        note({}, { refs: { requestId: `request_${Math.floor((from + n) / 5)}`, callId: `call_${from + n}` } }),
      ),
    );
  const found = await Array.fromAsync(store.read("long", { refs: { requestId: "request_864", callId: "call_4321" } }));
  expect(found.map(({ seq }) => seq)).toEqual([4321]);

  const sql = rawConnection();
  const plan = (analyzed: string) =>
    sql.unsafe(`
    explain select e.seq from entries e
    where e.thread = (select key from threads where id = 'long') and e.seq between 0::bigint and 9007199254740991::bigint
      and ${REQUEST_KEY_OF_ENTRY} = '"request_864"' order by e.seq + 0 ${analyzed} limit 500`);
  expect(JSON.stringify(await plan("asc"))).toContain("entries_by_request");
  await sql`analyze entries`;
  expect(JSON.stringify(await plan("desc"))).toContain("entries_by_request");
});

test("damaged refs have no place in the index, and keep no other entry from being found", async () => {
  const store = openStore({ tenant: "damaged" });
  const refs = { requestId: "request_1" };
  await store.append("t", [note({}, { refs }), note({}, { refs }), note()]);
  const sql = rawConnection();
  await sql`update entries set refs = '{"requestId":"' where tenant = 'damaged' and seq = 0`;
  await expect(Array.fromAsync(store.read("t", { refs }))).resolves.toMatchObject([{ seq: 1 }]);
  expect(await store.verify("t")).toMatchObject({ ok: false, bad: { seq: 0 } });
});
