import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { HeddleError, memoryStore, type ThreadStore } from "heddle";
import { MemoryDatabase } from "heddle/store";
import { expect, test } from "vitest";
import { sqliteStore } from "../../../src/stores/sqlite/sqlite-store.ts";
import { fastFile } from "../../support/temp-folder.ts";
import { openStore, rawConnection } from "../postgres/open.ts";
import { ask } from "../sqlite/support/sql.ts";
import { type Call, Model, Refusal } from "./model.ts";

interface Subject {
  readonly store: ThreadStore;
  /** The content of every table, as text. */
  readonly dump: () => Promise<string>;
  readonly end: () => Promise<void>;
}

const subjects: Readonly<Record<string, () => Subject>> = {
  memory() {
    const database = new MemoryDatabase();
    const store = memoryStore({ database });
    const dump = async () => JSON.stringify(database.tenant("default"), mapsAsLists);
    return { store, dump, end: () => store.close() };
  },
  SQLite() {
    const path = fastFile();
    const store = sqliteStore(path);
    const dump = async () => {
      const tables = ask(
        path,
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('meta', 'sqlite_sequence') ORDER BY name",
      );
      return JSON.stringify(tables.map(([name]) => [name, ask(path, `SELECT * FROM ${name} ORDER BY 1, 2, 3`)]));
    };
    return { store, dump, end: () => store.close() };
  },
  Postgres() {
    const tenant = randomUUID();
    const store = openStore({ tenant });
    return { store, dump: () => dumpPostgres(tenant), end: () => store.close() };
  },
};

const TABLES = [
  "threads",
  "entries",
  "big_payloads",
  "records",
  "claims",
  "commands",
  "feed_items",
  "runnable",
  "waiting",
];
let raw: ReturnType<typeof rawConnection> | undefined;

/** One query, because there is one before and one after each call. */
async function dumpPostgres(tenant: string): Promise<string> {
  raw ??= rawConnection();
  const parts = TABLES.map(
    (name) => `(select json_agg(t order by t::text) from ${name} t where tenant = $1) as ${name}`,
  );
  return JSON.stringify(await raw.unsafe(`select ${parts.join(", ")}`, [tenant]));
}

const thread = fc.constantFrom("t1", "t2");
const id = fc.constantFrom("c1", "c2", "c3");
const text = fc.constantFrom("a", "b");
const posts = fc.uniqueArray(fc.record({ thread, id, text }), {
  maxLength: 2,
  selector: (post) => `${post.thread} ${post.id}`,
});
const consumes = fc.uniqueArray(
  fc.record(
    { id, status: fc.constantFrom("done", "refused"), revision: fc.nat({ max: 1 }) },
    { requiredKeys: ["id", "status"] },
  ),
  { maxLength: 2, selector: (consumed) => consumed.id },
);
const call: fc.Arbitrary<Call> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant("post"), thread, id, text }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("amend"), thread, id, text }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("withdraw"), thread, id }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("delete"), thread }) },
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant("append"),
      thread,
      entry: fc.option(fc.constantFrom("c1/0", "c2/0", "e1", "e2", "e3"), { nil: undefined }),
      expectedRev: fc.option(fc.nat({ max: 2 }), { nil: undefined, freq: 3 }),
      consumes,
      posts,
    }),
  },
);

test.each(Object.entries(subjects))("inboxes of the %s store equal the model after any calls", async (_, open) => {
  await fc.assert(
    fc.asyncProperty(fc.array(call, { minLength: 5, maxLength: 25 }), async (calls) => {
      const { store, dump, end } = open();
      const model = new Model();
      await store.list(); // creates the tables
      for (const one of calls) {
        const before = await dump();
        const expected = answerOf(() => model.call(one));
        const found = await perform(store, one).then(
          (result) => ({ result }),
          (error: unknown) => ({ code: HeddleError.isInstance(error) ? error.code : error }),
        );
        expect(found).toEqual(expected);
        if ("code" in found || isUnchanged(one, found.result)) expect(await dump()).toBe(before);
      }
      await compare(store, model);
      await end();
    }),
    { numRuns: 200 },
  );
});

function answerOf(work: () => unknown): { result: unknown } | { code: unknown } {
  try {
    return { result: work() };
  } catch (error) {
    if (error instanceof Refusal) return { code: error.code };
    throw error;
  }
}

/** A retry writes nothing, unless it completes what was stored without its outcome. */
function isUnchanged(one: Call, result: unknown): boolean {
  const isRetry = typeof result === "object" && result !== null && "replayed" in result && result.replayed === true;
  return isRetry && !(one.type === "append" && one.entry !== undefined && one.consumes.length > 0);
}

async function perform(store: ThreadStore, one: Call): Promise<unknown> {
  switch (one.type) {
    case "post":
      return store.post(one.thread, { id: one.id, type: "ask", text: one.text });
    case "amend":
      return store.amend(one.thread, one.id, { text: one.text });
    case "withdraw":
      return store.withdraw(one.thread, one.id);
    case "delete":
      return (await store.delete(one.thread)) !== false;
    case "append": {
      const { rev, replayed } = await store.append(one.thread, one.entry === undefined ? [] : { id: one.entry }, {
        expectedRev: one.expectedRev,
        consumes: one.consumes.map(({ status, ...rest }) => ({ ...rest, outcome: { status } })),
        posts: one.posts.map((post) => ({
          threadId: post.thread,
          command: { id: post.id, type: "ask", text: post.text },
        })),
      });
      return { rev, replayed };
    }
  }
}

async function compare(store: ThreadStore, model: Model): Promise<void> {
  for (const name of ["t1", "t2"]) {
    const pending = await store.pending(name);
    const seen = pending.map((command) => ({
      id: command.id,
      text: command.body["text"],
      revision: command.revision,
    }));
    expect(seen).toEqual(model.pending(name));
    const ids = (await store.load(name))?.toArray().map((entry) => entry.id);
    expect(ids).toEqual(model.entries.get(name));
  }
  for (const [name, { outcome }] of model.inbox) {
    const [of = "", command = ""] = name.split(" ");
    if (outcome !== undefined) expect(await store.outcome(of, command)).toEqual(outcome);
  }
}

function mapsAsLists(_: string, value: unknown): unknown {
  return value instanceof Map ? [...value] : value;
}
