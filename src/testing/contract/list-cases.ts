import type { ListOptions, ListOrder, ThreadInfo } from "../../stores/port.ts";
import { note, user } from "../builders.ts";
import { type CaseFixture, type ContractTests, equal, ok, present, rejects, shortPause } from "./case-fixture.ts";

const LIST_ORDERS: readonly ListOrder[] = ["updated", "created", "id"];

/** Cases: listing and searching threads. */
export const listCases: ContractTests = {
  "an empty store lists nothing": async ({ store }) => {
    equal(await store.list(), { threads: [] }, "page");
  },

  "a list says of each thread what there is to know": async ({ store, thread }) => {
    await store.append(thread, note(), { metadata: { status: "running", title: "t" } });
    await store.append(thread, note());
    const metadata = { status: "running", title: "t" };
    const page = await store.list();
    const { createdAt, updatedAt } = present(page.threads[0], "thread");
    const facts = { id: thread, rev: 2, createdAt, updatedAt, metadata };
    const counts = { asks: 0, answers: 0 };
    equal(page, { threads: [{ ...facts, title: "t", counts, status: "running" }] }, "page");
  },

  "a status that is no text is none": async ({ store, thread }) => {
    await store.append(thread, note(), { metadata: { status: 5 } });
    ok(!("status" in present((await store.list()).threads[0], "thread")), "no status");
  },

  "threads come in the order asked for": async ({ store, fresh }) => {
    const [a, b, c] = [fresh("a"), fresh("b"), fresh("c")];
    await appendInTurn(store, [b, c, a, b]);
    equal(await listedIds(store, {}), [b, a, c], "by default");
    equal(await listedIds(store, { order: "updated" }), [b, a, c], "updated");
    equal(await listedIds(store, { order: "created" }), [a, c, b], "created");
    equal(await listedIds(store, { order: "id" }), [a, b, c], "id");
  },

  "in reverse the oldest comes first, and ids go down": async ({ store, fresh }) => {
    const [a, b, c, d] = [fresh("a"), fresh("b"), fresh("c"), fresh("d")];
    await appendInTurn(store, [b, d, c, a, b]);
    equal(await listedIds(store, { reverse: true }), [d, c, a, b], "by default");
    equal(await listedIds(store, { order: "created", reverse: true }), [b, d, c, a], "created");
    equal(await listedIds(store, { order: "id", reverse: true }), [d, c, b, a], "id");
    equal(await listedIds(store, { order: "id", reverse: false }), [a, b, c, d], "not reversed");
  },

  "among equals the id decides": async ({ store, open, fresh }) => {
    const ids = ["d", "b", "e", "a", "c"].map(fresh);
    const sameTime = await open({ clock: () => 100 }); // a store that ignores this clock gives equal times within one commit
    await Promise.all(ids.map((id) => sameTime.append(id, note())));
    for (const order of LIST_ORDERS) {
      const timeOf = (info: ThreadInfo) => (order === "id" ? 0 : order === "created" ? info.createdAt : info.updatedAt);
      const { threads } = await store.list({ order });
      equal(threads.length, 5, "threads");
      const sorted = threads.toSorted((a, b) => timeOf(b) - timeOf(a) || (a.id < b.id ? -1 : 1));
      equal(threads, sorted, order);
    }
  },

  "a prefix chooses": async ({ store, fresh }) => {
    for (const name of ["job_1", "job_2", "Job_3", "jobs", "other"]) await store.append(fresh(name), note());
    const prefixed = await listedIds(store, { prefix: fresh("job_"), order: "id" });
    equal(prefixed, [fresh("job_1"), fresh("job_2")], "prefix");
    equal(await listedIds(store, { prefix: fresh("nothing") }), [], "nothing begins so");
  },

  "a prefix and a search are text, not patterns": async ({ store, fresh }) => {
    for (const name of ["a%b", "aXb", "a_b", "a*b"]) await store.append(fresh(name), note({ name }));
    for (const name of ["a%b", "a_b", "a*b"]) {
      equal(await listedIds(store, { prefix: fresh(name) }), [fresh(name)], `prefix ${name}`);
      equal(await listedIds(store, { search: name }), [fresh(name)], `search ${name}`);
    }
    equal(await listedIds(store, { search: "a.b" }), [], "search a.b");
    equal(await listedIds(store, { search: "%" }), [fresh("a%b")], "search %");
  },

  "half of a character is in no text": async ({ store, fresh }) => {
    await store.append(fresh("\u{1F9F6}"), user("\u{1F9F6}"), { metadata: { status: "\u{1F9F6}" } });
    for (const half of ["\ud83e", "\uddf6", "\ufffd"]) {
      for (const options of [{ prefix: fresh(half) }, { search: half }, { status: half }])
        equal(await listedIds(store, options), [], JSON.stringify(options));
    }
  },

  "a status chooses": async ({ store, fresh }) => {
    await store.append(fresh("a"), note(), { metadata: { status: "running" } });
    await store.append(fresh("b"), note(), { metadata: { status: "done" } });
    await store.append(fresh("c"), note());
    equal(await listedIds(store, { status: "running" }), [fresh("a")], "running");
    await store.append(fresh("a"), note(), { metadata: { status: "done" } });
    equal(await listedIds(store, { status: "running" }), [], "running, later");
    equal(await listedIds(store, { status: "done", order: "id" }), [fresh("a"), fresh("b")], "done");
  },

  "a search finds text in the id, the metadata and the entries, in any case": async ({ store, fresh }) => {
    await store.append(fresh("Loom"), note());
    await store.append(fresh("b"), note(), { metadata: { title: "The LOOM" } });
    await store.append(fresh("c"), [note(), user("a loom and a heddle"), note()]);
    await store.append(fresh("d"), user("nothing of the kind"));
    for (const search of ["loom", "LOOM", "lOOm"])
      equal(await listedIds(store, { search, order: "id" }), [fresh("Loom"), fresh("b"), fresh("c")], search);
    equal(await listedIds(store, { search: "heddle" }), [fresh("c")], "heddle");
    equal(await listedIds(store, { search: "weft" }), [], "weft");
  },

  "a search finds text with quotes, line breaks and any script": async ({ store, fresh }) => {
    const texts = [
      'say "hi"',
      "one\ntwo",
      "tab\there",
      "back\\slash",
      "gr\u00fc\u00df \u{1F9F6}",
      "it's; --",
      "a\u0000b",
    ];
    for (const [n, text] of texts.entries()) await store.append(fresh(`t${n}`), user(`before ${text} after`));
    for (const [n, text] of texts.entries())
      equal(await listedIds(store, { search: text }), [fresh(`t${n}`)], `search ${JSON.stringify(text)}`);
  },

  "choices combine": async ({ store, fresh }) => {
    for (const [name, status, text] of [
      ["x_1", "open", "wool"],
      ["x_2", "open", "silk"],
      ["x_3", "done", "wool"],
      ["y_1", "open", "wool"],
    ] as const)
      await store.append(fresh(name), user(text), { metadata: { status } });
    equal(await listedIds(store, { prefix: fresh("x_"), status: "open", search: "wool" }), [fresh("x_1")], "ids");
  },
};

async function listedIds(store: CaseFixture["store"], options: ListOptions): Promise<string[]> {
  return (await store.list(options)).threads.map(({ id }) => id);
}

/** One append to each thread, in different milliseconds. */
async function appendInTurn(store: CaseFixture["store"], threadIds: readonly string[]): Promise<void> {
  for (const id of threadIds) {
    await store.append(id, note());
    await shortPause();
  }
}

const ORDERS: readonly ListOrder[] = ["updated", "created", "id"];

/** Cases: long lists that are read page by page. */
export const pageCases: ContractTests = {
  "pages follow each other without gap or duplicate": async ({ store, open, fresh }) => {
    let now = 100;
    const writer = await open({ clock: () => now });
    for (; now < 104; now++)
      await Promise.all(
        Array.from({ length: 23 }, (_, n) => n % 4 === now % 4 && writer.append(fresh(`t${n}`), note())),
      );
    for (const [order, reverse] of ORDERS.flatMap((order) => [[order, false] as const, [order, true] as const])) {
      const whole = (await store.list({ order, reverse })).threads;
      equal(whole.length, 23, "threads");
      if (reverse) equal(whole.toReversed(), (await store.list({ order })).threads, `${order} reversed`);
      for (const limit of [1, 5, 22, 23, 24]) {
        const paged = await pagesOf(store, { order, reverse, limit });
        equal(paged.flat(), whole, `pages of ${limit} by ${order}`);
        ok(
          paged.every((page) => page.length <= limit),
          "no page is too long",
        );
        equal(paged.length, Math.ceil(23 / limit), "pages");
      }
    }
  },

  "pages of a choice follow each other too": async ({ store, fresh }) => {
    for (let n = 0; n < 12; n++)
      await store.append(fresh(`t${n}`), user(n % 3 === 0 ? "wool" : "silk"), {
        metadata: { status: n % 2 ? "a" : "b" },
      });
    for (const options of [{ search: "wool" }, { status: "a" }, { search: "silk", status: "b" }] as const) {
      const whole = (await store.list({ ...options, order: "id" })).threads;
      equal((await pagesOf(store, { ...options, order: "id", limit: 2 })).flat(), whole, JSON.stringify(options));
      equal(whole.length, "search" in options && !("status" in options) ? 4 : "search" in options ? 4 : 6, "threads");
    }
  },

  "a page goes on where it was, whatever is appended or deleted": async ({ store, fresh }) => {
    for (let n = 0; n < 6; n++) await store.append(fresh(`t${n}`), note());
    const first = await store.list({ order: "id", limit: 2 });
    await store.delete(fresh("t1"));
    await store.append(fresh("t00"), note());
    await store.append(fresh("t3"), note());
    const cursor = present(first.cursor, "cursor");
    const rest = (await store.list({ order: "id", cursor })).threads.map(({ id }) => id);
    equal(
      rest,
      [2, 3, 4, 5].map((n) => fresh(`t${n}`)),
      "the rest",
    );
  },

  "fifty threads are a page unless another limit is asked for": async ({ store, fresh }) => {
    await Promise.all(Array.from({ length: 60 }, (_, n) => store.append(fresh(`t${n}`), note())));
    equal((await store.list()).threads.length, 50, "threads");
    equal((await store.list({ limit: 1000 })).threads.length, 60, "threads");
  },

  "more threads than are looked at in one go are all found": async ({ store, fresh }) => {
    const ids = Array.from({ length: 510 }, (_, n) => fresh(`t${String(n).padStart(3, "0")}`));
    await Promise.all(ids.map((id) => store.append(id, note())));
    equal(await idsOf(store, { order: "id", limit: 1000 }), ids, "ids");
    equal(await idsOf(store, { order: "id", prefix: fresh("t509") }), ids.slice(509), "the last");
  },

  "a list that makes no sense is refused": async ({ store, fresh }) => {
    await store.append(fresh("a"), note());
    await store.append(fresh("b"), note());
    for (const limit of [0, -1, 1001, 1.5, Number.NaN, Number.POSITIVE_INFINITY])
      await rejects(store.list({ limit }), { code: "invalid_options" }, `limit ${limit}`);
    const { cursor } = await store.list({ limit: 1, order: "id" });
    const wrong: readonly object[] = [
      { order: "size" },
      { prefix: 5 },
      { search: null },
      { status: {} },
      { cursor: "no cursor" },
      { cursor: "" },
      { cursor: "[]" },
      { cursor: 5 },
      { cursor: '["id",0,5]', order: "id" },
      { cursor: '["id",1e300,"t"]', order: "id" },
      { cursor: '["id","0","t"]', order: "id" },
      { cursor: '["updated",1.5,"t"]' },
      { cursor: '["updated",0,"\\u0000"]' },
      { cursor: '["updated",0,"t",1]' },
      { cursor, order: "created" },
      { cursor, order: "id", reverse: true },
      { reverse: "yes" },
    ];
    for (const options of wrong)
      await rejects(store.list(options as ListOptions), { code: "invalid_options" }, JSON.stringify(options)); // invalid on purpose
  },
};

async function pagesOf(store: CaseFixture["store"], options: ListOptions): Promise<ThreadInfo[][]> {
  const pages: ThreadInfo[][] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list({ ...options, cursor });
    pages.push([...page.threads]);
    cursor = page.cursor;
    await shortPause(); // lets the timeout of the case fire if the store returns endless pages
  } while (cursor !== undefined);
  return pages;
}

async function idsOf(store: CaseFixture["store"], options: ListOptions): Promise<string[]> {
  return (await store.list(options)).threads.map(({ id }) => id);
}
