import { type EntryInput, project, Thread, type ThreadStore } from "heddle";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Body, started } from "./client.ts";

const said = (role: string, content: unknown, more: object = {}): EntryInput => ({
  kind: "ai_message",
  payload: { contextRef: "default", role, content, ...more } as never, // JSON, as it stands here
});

/** A clock by which whatever is done takes far too long. */
const hurried = () => {
  let now = 1e12;
  return { clock: () => (now += 1000) };
};

/** What is read of long threads and of many, on a store of any kind. */
export function readingStories(kind: string, open: () => ThreadStore): void {
  const withStore = async (options: Parameters<typeof started>[0] = {}) => {
    const store = open();
    onTestFinished(() => store.close());
    return started({ store, ...options });
  };

  describe(`Reading on ${kind}`, () => {
    test("the entries of a sort, of a kind and of a lane are found from either end", async () => {
      const { api, store } = await withStore();
      await store.append("thread_1", [
        said("user", "What is it?"),
        said("assistant", [{ type: "thinking", text: "Hm." }], {
          toolCalls: [{ id: "c1", name: "look", arguments: {} }],
        }),
        said("tool", "no", { toolCallId: "c1", name: "look", isError: true }),
        said("user", "Hurry", { steer: "steer" }),
        said("assistant", "It is late."),
        {
          kind: "ai_context_operation",
          payload: { contextRef: "other", operation: { type: "switch", reason: "manual" } },
        },
        { kind: "note", payload: { text: "of the other lane" } },
        { ...said("user", "Anew"), payload: { contextRef: "other", role: "user", content: "Anew" } },
        { kind: "summary", payload: { contextRef: "default", fromSeq: 0, toSeq: 4, content: "Late." } },
        { kind: "error", payload: { code: "model_failed", message: "no" } },
      ]);
      const seqs = async (query: string) =>
        (await api.get(`/threads/thread_1/entries?${query}`)).body.entries.map(({ seq }: Body) => seq);
      expect(await seqs("kinds=messages")).toEqual([0, 3, 4, 7]);
      expect(await seqs("kinds=thinking")).toEqual([1]);
      expect(await seqs("kinds=calls,results")).toEqual([1, 2]);
      expect(await seqs("kinds=steering")).toEqual([3]);
      expect(await seqs("kinds=context,summaries")).toEqual([5, 8]);
      expect(await seqs("kinds=errors")).toEqual([2, 9]);
      expect(await seqs("kinds=note")).toEqual([6]);
      expect(await seqs("kinds=nothing_such")).toEqual([]);
      expect(await seqs("lane=other")).toEqual([5, 6, 7, 9]);
      expect(await seqs("lane=other&kinds=messages")).toEqual([7]);
      expect(await seqs("kinds=messages&from=3")).toEqual([3, 4, 7]);
      expect((await api.get("/threads/thread_1/entries?kinds=messages&from=1&limit=1")).body).toMatchObject({
        entries: [{ seq: 3 }],
        searched: { from: 1, to: 3 },
        rev: 10,
      });
      expect((await api.get("/threads/thread_1/entries?kinds=messages&to=6&limit=2")).body).toMatchObject({
        entries: [{ seq: 3 }, { seq: 4 }],
        searched: { from: 3, to: 6 },
      });
      expect((await api.get("/threads/thread_1/entries?kinds=messages&from=10")).body.searched.to).toBe(9);
    });

    test("a malformed switch changes no lane, also where it lies far before the entries that are read", async () => {
      const { api, store } = await withStore();
      const wrong = { contextRef: "other", operation: { type: "switch", reason: "manuel" } };
      const notes = Array.from({ length: 4100 }, () => ({ kind: "note" }));
      await store.append("thread_1", [said("user", "Hi"), { kind: "ai_context_operation", payload: wrong }, ...notes]);
      expect((await api.get("/threads/thread_1")).body).toMatchObject({
        lanes: ["default", "other"],
        activeLane: "default",
      });
      const seqs = async (query: string) =>
        (await api.get(`/threads/thread_1/entries?${query}`)).body.entries.map(({ seq }: Body) => seq);
      expect(await seqs("lane=default&limit=3&from=0")).toEqual([0, 2, 3]);
      expect(await seqs("lane=other&from=0")).toEqual([1]);
      expect(await seqs("lane=default&from=4100")).toEqual([4100, 4101]);
    });

    test("a long thread is looked through in pieces: calls, and entries of a sort", async () => {
      const { api, store } = await withStore({ ports: hurried() });
      await store.append(
        "thread_long",
        Array.from({ length: 20_100 }, () => ({ kind: "note" })),
      );
      expect((await api.get("/threads/thread_long/calls")).body).toEqual({ calls: [], searchedTo: 100 });
      expect((await api.get("/threads/thread_long/calls?before=100")).body).toEqual({ calls: [] });
      const errors = (await api.get("/threads/thread_long/entries?kinds=errors")).body;
      expect(errors).toEqual({ entries: [], rev: 20_100, searched: { from: 16_100, to: 20_099 } });
    });

    test("a search that takes too long returns its results so far, and continues by its cursor to the end", async () => {
      const { api, store } = await withStore({ ports: hurried() });
      await store.append("thread_long", [
        said("user", "WARP"),
        ...Array.from({ length: 20_100 }, () => said("user", "x")),
      ]);
      for (const n of [1, 2, 3, 4]) await store.append(`thread_${n}`, said("user", n === 3 ? "Of weft" : "Of warp"));
      const found: string[] = [];
      let cursor: string | undefined;
      let answers = 0;
      do {
        const more: string = cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`;
        const { body } = await api.get(`/threads?search=wARp${more}`);
        if (body.cursor !== undefined) expect(body.searchedTo).toBeGreaterThan(0);
        found.push(...body.threads.map(({ id }: Body) => id));
        cursor = body.cursor;
        answers += 1;
      } while (cursor !== undefined);
      expect(found.sort()).toEqual(["thread_1", "thread_2", "thread_4", "thread_long"]);
      expect(answers).toBeGreaterThan(5);
    });

    test("a search that has the time finds titles, ids and words, page by page, filtered like any list", async () => {
      const { api, store } = await withStore();
      for (const n of [1, 2, 3, 4, 5]) {
        await store.append(`thread_${n}`, said("user", `Of warp ${n}`), {
          metadata: { status: n % 2 ? "failed" : "completed" },
        });
      }
      const first = (await api.get("/threads?search=warp&limit=3")).body;
      expect(first.threads.length).toBe(3);
      expect(first.searchedTo).toBeUndefined();
      const rest = (await api.get(`/threads?search=warp&limit=3&cursor=${encodeURIComponent(first.cursor)}`)).body;
      expect(rest.cursor).toBeUndefined();
      expect(new Set([...first.threads, ...rest.threads].map(({ id }: Body) => id)).size).toBe(5);
      const ids = async (query: string) =>
        (await api.get(`/threads?${query}`)).body.threads.map(({ id }: Body) => id).sort();
      expect(await ids("search=warp&status=completed")).toEqual(["thread_2", "thread_4"]);
      expect(await ids("search=THREAD_5")).toEqual(["thread_5"]);
      expect(await ids("search=completed")).toEqual(["thread_2", "thread_4"]);
      expect(await ids("search=nowhere")).toEqual([]);
      expect((await api.get("/threads?search=warp&cursor=nonsense")).body.error.code).toBe("invalid_request");
    });

    test("the tail of a thread is projected elsewhere as the server projects it", async () => {
      const { api, store } = await withStore();
      const talk = Array.from({ length: 400 }, (_, n) => said(n % 2 ? "assistant" : "user", `${n} `.repeat(20)));
      await store.append("thread_1", talk);
      const policy = { maxInputTokens: 2000, reserveOutputTokens: 100 };
      const tail = (await api.get("/threads/thread_1/tail?atSeq=300&last=120")).body;
      expect(tail).toMatchObject({ rev: 301, firstSeq: 181, base: { activeLane: "default" } });
      const here = project({ thread: Thread.fromJSON(tail), policy, system: "s", tools: [] });
      const there = (await api.post("/threads/thread_1/view", { atSeq: 300, policy, system: "s", tools: [] })).body;
      expect(here.messages).toEqual(there.messages);
      expect(here.meta.fingerprint).toBe(there.meta.fingerprint);
      const whole = (await api.get("/threads/thread_1/tail?last=5000")).body;
      expect(whole.entries.length).toBe(400);
      expect(whole.base).toBeUndefined();
      expect((await api.get("/threads/thread_1/tail?atSeq=400")).body.error.code).toBe("seq_out_of_range");
    });
  });
}
