import fc from "fast-check";
import { memoryStore, type ThreadStore } from "heddle";
import type { ListOptions, ThreadPage } from "heddle/store";
import { note } from "heddle/testing";
import { expect, test } from "vitest";
import { openStore } from "./open.ts";

/** Few letters, so that things match, and everything that a pattern, JSON or a collation could trip over. */
const text = fc.string({
  unit: fc.constantFrom("a", "A", "b", "é", "É", "ß", "_", "%", '"', "'", "$", "ü", "ﬀ", "～", "🧶"),
  minLength: 1,
  maxLength: 3,
});
const payloadText = fc.string({ unit: fc.constantFrom("a", "B", "\\", "\n", "\0", '"', "é", "%"), maxLength: 4 });
const time = fc.integer({ min: 0, max: 3 });

const threads = fc.uniqueArray(
  fc.record({
    id: text,
    created: time,
    updated: time,
    status: fc.option(fc.oneof(payloadText, fc.constant(7), fc.constant(null)), { nil: undefined }),
    said: payloadText,
  }),
  { selector: ({ id }) => id, maxLength: 12 },
);

const query = fc.record(
  {
    prefix: fc.oneof(text, fc.constantFrom("\0", "\ud83d")),
    order: fc.constantFrom("updated", "created", "id"),
    status: payloadText,
    search: fc.oneof(text, payloadText, fc.constantFrom("\ud83d", '"', "\\", "\n", "\0", "%", "é", "É")),
    limit: fc.integer({ min: 1, max: 5 }),
    reverse: fc.boolean(),
  },
  { requiredKeys: [] },
) satisfies fc.Arbitrary<ListOptions>;

let rounds = 0;

test("a list equals the list of the memory store, page by page", async () => {
  await fc.assert(
    fc.asyncProperty(threads, fc.array(query, { minLength: 40, maxLength: 60 }), async (written, queries) => {
      const postgres = openStore({ tenant: `list-${rounds++}`, maxConnections: 3 });
      const withTime = (value: number) => written.filter(({ created, updated }) => [created, updated].includes(value));
      for (const value of [0, 1, 2, 3]) {
        await Promise.all(
          withTime(value).map((thread) => postgres.append(thread.id, note({ said: thread.said }), facts(thread))),
        );
      }
      const memory = await copyIntoMemory(postgres);
      for (const options of queries) expect(await pages(postgres, options)).toEqual(await pages(memory, options));
      await postgres.close();
    }),
    { numRuns: 20 },
  );
});

/** The same threads with the same times. */
async function copyIntoMemory(store: ThreadStore): Promise<ThreadStore> {
  let now = 0;
  const copy = memoryStore({ clock: () => now });
  const { threads } = await store.list({ order: "id" });
  for (const { id, createdAt, updatedAt, metadata } of threads) {
    for await (const { seq, payload } of store.read(id)) {
      now = seq === 0 ? createdAt : updatedAt;
      await copy.append(id, { kind: "note", payload }, { metadata });
    }
  }
  return copy;
}

function facts({ status }: { readonly status?: string | number | null | undefined }) {
  return { metadata: status === undefined ? {} : { status } };
}

async function pages(store: ThreadStore, options: ListOptions): Promise<readonly ThreadPage[]> {
  const found: ThreadPage[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list({ ...options, cursor });
    found.push(page);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return found;
}
