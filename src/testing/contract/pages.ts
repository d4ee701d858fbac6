import type { ListOptions, ListOrder, ThreadInfo } from "../../stores/port.ts";
import { note, user } from "../builders.ts";
import { equal, ok, present, rejects } from "../check.ts";
import { aMoment } from "../drain.ts";
import type { Stories, World } from "../world.ts";

const ORDERS: readonly ListOrder[] = ["updated", "created", "id"];

/** Long lists, a page at a time. */
export const pages: Stories = {
  "pages follow each other without gap or duplicate": async ({ store, fresh }) => {
    for (let n = 0; n < 23; n++) await store.append(fresh(`t${n}`), note({}, { at: 100 + (n % 4) }));
    for (const order of ORDERS) {
      const whole = (await store.list({ order })).threads;
      equal(whole.length, 23, "threads");
      for (const limit of [1, 5, 22, 23, 24]) {
        const paged = await pagesOf(store, { order, limit });
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
      { cursor, order: "created" },
    ];
    for (const options of wrong)
      await rejects(store.list(options as ListOptions), { code: "invalid_options" }, JSON.stringify(options)); // wrong on purpose
  },
};

async function pagesOf(store: World["store"], options: ListOptions): Promise<ThreadInfo[][]> {
  const pages: ThreadInfo[][] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list({ ...options, cursor });
    pages.push([...page.threads]);
    cursor = page.cursor;
    await aMoment(); // pages without end must not keep the timer from ending the case
  } while (cursor !== undefined);
  return pages;
}

async function idsOf(store: World["store"], options: ListOptions): Promise<string[]> {
  return (await store.list(options)).threads.map(({ id }) => id);
}
