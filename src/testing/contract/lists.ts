import type { ListOptions, ListOrder } from "../../stores/port.ts";
import { note, user } from "../builders.ts";
import { equal, ok, present } from "../check.ts";
import type { Stories, World } from "../world.ts";

const ORDERS: readonly ListOrder[] = ["updated", "created", "id"];

/** Finding threads. */
export const lists: Stories = {
  "an empty store lists nothing": async ({ store }) => {
    equal(await store.list(), { threads: [] }, "page");
  },

  "a list says of each thread what there is to know": async ({ store, thread }) => {
    await store.append(thread, note({}, { at: 100 }), { metadata: { status: "running", title: "t" } });
    await store.append(thread, note({}, { at: 300 }));
    const metadata = { status: "running", title: "t" };
    const expected = { id: thread, rev: 2, createdAt: 100, updatedAt: 300, status: "running", metadata };
    equal(await store.list(), { threads: [expected] }, "page");
  },

  "a status that is no text is none": async ({ store, thread }) => {
    await store.append(thread, note(), { metadata: { status: 5 } });
    ok(!("status" in present((await store.list()).threads[0], "thread")), "no status");
  },

  "threads come in the order asked for": async ({ store, fresh }) => {
    const [a, b, c] = [fresh("a"), fresh("b"), fresh("c")];
    await store.append(b, note({}, { at: 100 }));
    await store.append(c, note({}, { at: 200 }));
    await store.append(a, note({}, { at: 300 }));
    await store.append(b, note({}, { at: 400 }));
    equal(await idsOf(store, {}), [b, a, c], "by default");
    equal(await idsOf(store, { order: "updated" }), [b, a, c], "updated");
    equal(await idsOf(store, { order: "created" }), [a, c, b], "created");
    equal(await idsOf(store, { order: "id" }), [a, b, c], "id");
  },

  "among equals the id decides": async ({ store, fresh }) => {
    const ids = ["d", "b", "e", "a", "c"].map(fresh);
    for (const id of ids) await store.append(id, note({}, { at: 100 }));
    for (const order of ORDERS) equal(await idsOf(store, { order }), ids.toSorted(), order);
  },

  "a prefix chooses": async ({ store, fresh }) => {
    for (const name of ["job_1", "job_2", "Job_3", "jobs", "other"]) await store.append(fresh(name), note());
    const prefixed = await idsOf(store, { prefix: fresh("job_"), order: "id" });
    equal(prefixed, [fresh("job_1"), fresh("job_2")], "prefix");
    equal(await idsOf(store, { prefix: fresh("nothing") }), [], "nothing begins so");
  },

  "a prefix and a search are text, not patterns": async ({ store, fresh }) => {
    for (const name of ["a%b", "aXb", "a_b", "a*b"]) await store.append(fresh(name), note({ name }));
    for (const name of ["a%b", "a_b", "a*b"]) {
      equal(await idsOf(store, { prefix: fresh(name) }), [fresh(name)], `prefix ${name}`);
      equal(await idsOf(store, { search: name }), [fresh(name)], `search ${name}`);
    }
    equal(await idsOf(store, { search: "a.b" }), [], "search a.b");
    equal(await idsOf(store, { search: "%" }), [fresh("a%b")], "search %");
  },

  "a status chooses": async ({ store, fresh }) => {
    await store.append(fresh("a"), note(), { metadata: { status: "running" } });
    await store.append(fresh("b"), note(), { metadata: { status: "done" } });
    await store.append(fresh("c"), note());
    equal(await idsOf(store, { status: "running" }), [fresh("a")], "running");
    await store.append(fresh("a"), note(), { metadata: { status: "done" } });
    equal(await idsOf(store, { status: "running" }), [], "running, later");
    equal(await idsOf(store, { status: "done", order: "id" }), [fresh("a"), fresh("b")], "done");
  },

  "a search finds text in the id, the metadata and the entries, in any case": async ({ store, fresh }) => {
    await store.append(fresh("Loom"), note());
    await store.append(fresh("b"), note(), { metadata: { title: "The LOOM" } });
    await store.append(fresh("c"), [note(), user("a loom and a heddle"), note()]);
    await store.append(fresh("d"), user("nothing of the kind"));
    for (const search of ["loom", "LOOM", "lOOm"])
      equal(await idsOf(store, { search, order: "id" }), [fresh("Loom"), fresh("b"), fresh("c")], search);
    equal(await idsOf(store, { search: "heddle" }), [fresh("c")], "heddle");
    equal(await idsOf(store, { search: "weft" }), [], "weft");
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
      equal(await idsOf(store, { search: text }), [fresh(`t${n}`)], `search ${JSON.stringify(text)}`);
  },

  "choices combine": async ({ store, fresh }) => {
    for (const [name, status, text] of [
      ["x_1", "open", "wool"],
      ["x_2", "open", "silk"],
      ["x_3", "done", "wool"],
      ["y_1", "open", "wool"],
    ] as const)
      await store.append(fresh(name), user(text), { metadata: { status } });
    equal(await idsOf(store, { prefix: fresh("x_"), status: "open", search: "wool" }), [fresh("x_1")], "ids");
  },
};

async function idsOf(store: World["store"], options: ListOptions): Promise<string[]> {
  return (await store.list(options)).threads.map(({ id }) => id);
}
