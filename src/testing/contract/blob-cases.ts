import type { ThreadStore } from "../../stores/port.ts";
import type { EntryInput } from "../../thread/entry.ts";
import type { JsonObject } from "../../thread/json.ts";
import { Thread } from "../../thread/thread.ts";
import { note, notes } from "../builders.ts";
import {
  type CaseFixture,
  type ContractTests,
  equal,
  firstItems,
  ok,
  present,
  rejects,
  sameJsonText,
  shortPause,
  until,
} from "./case-fixture.ts";

/** A text of more than 64 Ki characters. */
function longText(words: string): string {
  return `${'\u0000\n\\ "quoted" é 😀 '.repeat(3700)}${words}`;
}

function picture(letter: string): JsonObject {
  return { type: "file", mediaType: "image/png", data: { base64: letter.repeat(2000) } };
}

/** Payloads with texts in blobs, and some that only look like it. */
function payloads(): readonly JsonObject[] {
  const list = JSON.parse(`{"__proto__":${JSON.stringify(longText("in an odd key"))},"a/b~1":{"~":[0,"","x"]}}`);
  return [
    { role: "user", content: [{ type: "text", text: "Look:" }, picture("A"), picture("B"), picture("A")] },
    { z: longText("1"), a: longText("2"), "a/b": { "~0": [longText("1"), null], "": longText("3") } },
    list,
    { base64: "short", data: { base64: "Q".repeat(1023) }, text: '{"base64":"' },
    { list: [{ text: "" }, { "/text": "hash" }, 12] },
  ];
}

/** Cases: long texts and files are stored apart from their rows, and every reader gets them. */
export const blobCases: ContractTests = {
  "files and long texts come back as they were": async ({ store, open, thread }) => {
    const given = payloads();
    const { entries } = await store.append(
      thread,
      given.map((payload) => note(payload)),
    );
    sameJsonText(payloadsOf(entries), given, "appended");
    const other = await open();
    sameJsonText(
      (await other.load(thread))?.toArray().map(({ payload }) => payload),
      given,
      "loaded",
    );
    sameJsonText(payloadsOf(await Array.fromAsync(other.read(thread))), given, "read");
    const reversed = await Array.fromAsync(other.read(thread, { reverse: true }));
    sameJsonText(payloadsOf(reversed), given.toReversed(), "read in reverse");
    sameJsonText(payloadsOf(await firstItems(given.length, other.watch(thread, { fromSeq: 0 }))), given, "watched");
    const fed = await firstItems(given.length, other.feed());
    sameJsonText(payloadsOf(fed.flatMap((item) => (item.type === "entry" ? item.entry : []))), given, "fed");
    equal(await other.verify(thread).then(({ ok, entries }) => [ok, entries]), [true, given.length], "verify");
  },

  "one append may hold a text twice, and others hold it again": async ({ store, thread, fresh }) => {
    const same = { text: longText("same"), again: longText("same"), content: [picture("A")] };
    const other = { content: [picture("A")], base64: longText("same") };
    await Promise.all([
      store.append(thread, [note(same), note(other), note(same)]),
      store.append(fresh("other"), [note(other), note(same)]),
    ]);
    await store.append(thread, note(other));
    const found = payloadsOf(await Array.fromAsync(store.read(thread)));
    sameJsonText(found, [same, other, same, other], "payloads");
    sameJsonText(payloadsOf(await Array.fromAsync(store.read(fresh("other")))), [other, same], "other thread");
  },

  "an append with files is replayed, and refused with other files": async ({ store, open, thread }) => {
    const batch = [note({ content: [picture("A")] }, { id: "a" }), note({ text: longText("b"), n: 1 }, { id: "b" })];
    await store.append(thread, batch);
    const again = await (await open()).append(thread, [
      batch[0] as EntryInput,
      note({ n: 1, text: longText("b") }, { id: "b" }),
    ]); // the thread has two entries
    equal([again.replayed, again.rev], [true, 2], "replay");
    sameJsonText(again.entries, (await store.load(thread))?.toArray(), "entries");
    const reused = { code: "entry_id_reused", threadId: thread };
    await rejects(store.append(thread, note({ content: [picture("B")] }, { id: "a" })), reused, "another file");
    await rejects(store.append(thread, note({ text: "b", n: 1 }, { id: "b" })), reused, "a short text");
    const saved = Thread.create({ id: thread }).append(note({ content: [picture("C")] }, { id: "a" }));
    await rejects(store.save(saved), { code: "thread_diverged" }, "another history");
    await store.save(present(await store.load(thread), "thread"));
    equal((await store.load(thread))?.rev, 2, "rev");
  },

  "a tail after long texts has the size of its lane": async ({ store, thread }) => {
    await store.append(thread, [
      note({ text: longText("1") }),
      note({ content: [picture("A")] }),
      note({ text: "short" }),
    ]);
    const sizes = (await store.load(thread))?.toArray().map(({ payload }) => sizeOf(payload)) ?? [];
    for (const last of [1, 2]) {
      const before = sizes.slice(0, -last).reduce((sum, size) => sum + size, 0);
      equal((await store.load(thread, { last }))?.base?.lanes["default"]?.measure, before, `before the last ${last}`);
    }
  },

  "a search finds long texts": async ({ store, thread, fresh }) => {
    await store.append(thread, [note({ text: longText("a Needle") }), note({ text: longText("hay") }), ...notes(3)]);
    await store.append(fresh("other"), note({ text: longText("hay"), content: [picture("needle")] }));
    const found = await Array.fromAsync(store.read(thread, { search: "NEEDLE" }));
    equal(
      found.map(({ seq }) => seq),
      [0],
      "entries",
    );
    const first = await Array.fromAsync(store.read(thread, { search: "needle", reverse: true, limit: 1 }));
    equal(
      first.map(({ seq }) => seq),
      [0],
      "from the end",
    );
    equal(
      (await store.list({ search: "needle" })).threads.map(({ id }) => id),
      [thread],
      "threads",
    );
    equal((await store.list({ search: "hay", order: "id" })).threads.length, 2, "threads with hay");
    equal((await store.list({ search: "straw" })).threads, [], "no thread");
  },

  "a fork keeps the files of its entries when its parent is deleted": async ({ store, open, thread, fresh }) => {
    const purger = await open({ keepBlobsMs: 0 });
    const prompt = await store.putBlob({ prompt: "of the parent" }, { threadId: thread });
    const payload = { text: longText("kept"), content: [picture("A")] };
    await store.append(thread, [note(payload), note()]);
    const fork = (await store.fork(thread, { atSeq: 0 })).id;
    await store.delete(thread);
    await purge(purger, fresh);
    sameJsonText(payloadsOf(await Array.fromAsync(store.read(fork))), [payload], "payloads");
    equal(await store.getBlob(prompt), { prompt: "of the parent" }, "prompt");
    equal((await store.verify(fork)).ok, true, "verify");
  },
};

/** Cases: a blob is removed some time after the last thread that used it. */
export const blobUseCases: ContractTests = {
  "a blob goes with the last thread that used it": async (fixture) => {
    const { store, open, thread, fresh } = fixture;
    const purger = await open({ keepBlobsMs: 0 });
    const text = longText("secret");
    const hashes = [
      await hashOf(fixture, text),
      await hashOf(fixture, "A".repeat(2000)),
      await store.putBlob("prompt", { threadId: thread }),
      await store.putBlob(Uint8Array.of(1, 2), { threadId: thread }),
    ];
    const input = note({ text, content: [picture("A")] });
    for (const id of [thread, fresh("second")]) {
      await store.append(id, input);
      await store.putBlob("prompt", { threadId: id });
      await store.putBlob(Uint8Array.of(1, 2), { threadId: id });
    }
    await store.delete(thread);
    await purge(purger, fresh);
    for (const hash of hashes) ok((await store.getBlob(hash)) !== undefined, "a blob that is in use is kept");
    sameJsonText(payloadsOf(await Array.fromAsync(store.read(fresh("second")))), [input.payload], "payload");
    await store.delete(fresh("second"));
    await until(async () => {
      await purge(purger, fresh);
      const found = await Promise.all(hashes.map((hash) => store.getBlob(hash)));
      return found.every((blob) => blob === undefined) || undefined;
    });
  },

  "a fork uses no blob of entries that it does not show": async (fixture) => {
    const { store, open, thread, fresh } = fixture;
    const purger = await open({ keepBlobsMs: 0 });
    const shown = note({ text: longText("shown"), content: [picture("A")] });
    const others = { again: longText("shown"), put: longText("put"), b: picture("B") };
    await store.append(thread, [shown, note({ text: longText("left out"), ...others })]);
    const put = await store.putBlob(longText("put"), { threadId: thread });
    const [first, second] = [fresh("first"), fresh("second")];
    await store.fork(thread, { atSeq: 0, newId: first });
    await store.append(first, [note({ text: longText("own") }), note({ text: longText("also left out") })]);
    await store.fork(first, { atSeq: 1, newId: second });
    await store.fork(first, { atSeq: -1, newId: fresh("empty") });
    const gone = await Promise.all(["left out", "also left out"].map((text) => hashOf(fixture, longText(text))));
    gone.push(await hashOf(fixture, "B".repeat(2000)));
    await store.delete(thread);
    await store.delete(first);
    await until(async () => {
      await purge(purger, fresh);
      const found = await Promise.all(gone.map((hash) => store.getBlob(hash)));
      return found.every((blob) => blob === undefined) || undefined;
    });
    const payloads = payloadsOf(await Array.fromAsync(store.read(second)));
    sameJsonText(payloads, [shown.payload, { text: longText("own") }], "payloads of the fork");
    ok((await store.verify(second)).ok, "verified");
    ok((await store.getBlob(put)) !== undefined, "a blob that was put for the thread is kept");
  },

  "a blob that was put without a thread stays": async (fixture) => {
    const { store, open, thread, fresh } = fixture;
    const purger = await open({ keepBlobsMs: 0 });
    const [before, after] = [await store.putBlob(longText("before")), await hashOf(fixture, longText("after"))];
    await store.append(thread, [note({ text: longText("before") }), note({ text: longText("after") })]);
    await store.putBlob(longText("after"));
    const gone = await store.putBlob("gone", { threadId: thread });
    await store.delete(thread);
    await until(async () => {
      await purge(purger, fresh);
      return (await store.getBlob(gone)) === undefined || undefined;
    });
    equal(await store.getBlob(before), longText("before"), "put before the thread used it");
    equal(await store.getBlob(after), longText("after"), "put while the thread used it");
  },

  "a blob that is used again stays": async (fixture) => {
    const { store, open, thread, fresh } = fixture;
    const purger = await open({ keepBlobsMs: 0 });
    const early = await store.putBlob("early", { threadId: fresh("later") });
    const input = note({ text: longText("again") });
    await store.append(thread, input);
    await store.delete(thread);
    await store.append(thread, input);
    await store.append(fresh("later"), note());
    await purge(purger, fresh);
    await purge(purger, fresh);
    sameJsonText(payloadsOf(await Array.fromAsync(store.read(thread))), [input.payload], "payload");
    equal(await store.getBlob(early), "early", "a blob that came before its thread");
  },

  "blobs are not removed before their time": async ({ store, thread, fresh }) => {
    const hash = await store.putBlob("prompt", { threadId: thread });
    await store.append(thread, note({ text: longText("kept") }));
    await store.delete(thread);
    await purge(store, fresh);
    equal(await store.getBlob(hash), "prompt", "blob");
  },
};

/** Deletes other threads, because each `delete` removes old blobs. */
async function purge(store: ThreadStore, fresh: CaseFixture["fresh"]): Promise<void> {
  await shortPause();
  await store.delete(fresh("none"));
}

/** The hash of a text: another tenant stores it and gets the hash. */
async function hashOf({ open, tenant }: CaseFixture, text: string): Promise<string> {
  return (await open({ tenant: `${tenant}_other` })).putBlob(text);
}

function payloadsOf(entries: readonly { readonly payload: JsonObject }[]): readonly JsonObject[] {
  return entries.map(({ payload }) => payload);
}

function sizeOf(payload: JsonObject): number {
  return Math.floor(new TextEncoder().encode(JSON.stringify(payload)).length / 4);
}
