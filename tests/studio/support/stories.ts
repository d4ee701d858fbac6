import { defineAgent, defineTool, type ThreadStore } from "heddle";
import { demoAgent } from "heddle/studio";
import { scriptedModel } from "heddle/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Body, isEnd, started } from "./client.ts";

/** What everybody does with Studio, on a store of any kind. */
export function studioStories(kind: string, open: () => ThreadStore): void {
  const withStore = async (options: Parameters<typeof started>[0] = {}) => {
    const store = open();
    onTestFinished(() => store.close());
    return started({ store, ...options });
  };

  describe(`Studio on ${kind}`, () => {
    test("says what it is, with prompts that each show one thing", async () => {
      const { api } = await withStore();
      const { body } = await api.get("/info");
      expect(body).toMatchObject({ name: "heddle", readOnly: false, demo: true, model: "heddle-demo:offline-demo" });
      expect(body.prompts.map(({ title }: Body) => title)).toContain("A loop of thirty calls");
      expect(JSON.stringify(body)).not.toContain("/tmp");
    });

    test("a first chat: the ask is accepted, the answer is in the log, and the thread has a title", async () => {
      const { api, store } = await withStore();
      const id = await api.newThread();
      expect((await api.get(`/threads/${id}`)).body).toMatchObject({ title: "Untitled", live: false, rev: 0 });
      const entries = await api.asked(id, "What is (17 + 25) * 3?");
      expect(entries.map(({ payload }) => payload.role)).toEqual(["user", "assistant", "tool", "assistant"]);
      expect(entries.at(-1).payload.content).toBe("(17 + 25) * 3 is **126**.");
      const { body } = await api.get(`/threads/${id}`);
      expect(body).toMatchObject({
        title: "What is (17 + 25) * 3?",
        status: "completed",
        agent: "heddle-demo",
        lanes: ["default"],
        activeLane: "default",
        forks: [],
      });
      expect(body.request).toBeUndefined();
      const { threads } = await store.list();
      expect(threads[0]?.metadata).toMatchObject({ title: "What is (17 + 25) * 3?", status: "completed" });
    });

    test("a title that was given stays", async () => {
      const { api } = await withStore();
      const id = await api.newThread("Sums");
      await api.asked(id, "What is 1 + 1?");
      expect((await api.get(`/threads/${id}`)).body.title).toBe("Sums");
    });

    test("windows of entries: from and to, last, around, and the end of it", async () => {
      const { api, store } = await withStore();
      await store.append(
        "thread_long",
        Array.from({ length: 50 }, (_, n) => ({ kind: "note", payload: { n } })),
      );
      const seqs = async (query: string) =>
        (await api.get(`/threads/thread_long/entries?${query}`)).body.entries.map(({ seq }: Body) => seq);
      expect(await seqs("from=3&to=6")).toEqual([3, 4, 5, 6]);
      expect(await seqs("last=2")).toEqual([48, 49]);
      expect(await seqs("around=20&limit=4")).toEqual([18, 19, 20, 21]);
      expect(await seqs("around=49&limit=3")).toEqual([47, 48, 49]);
      expect(await seqs("around=0&limit=3")).toEqual([0, 1, 2]);
      expect(await seqs("from=48")).toEqual([48, 49]);
      expect(await seqs("to=1")).toEqual([0, 1]);
      expect((await seqs("")).length).toBe(50);
      expect((await api.get("/threads/thread_long/entries?last=1")).body.rev).toBe(50);
    });

    test("the list: newest first, by page, by status, agent, time and text", async () => {
      const { api, store } = await withStore();
      for (let n = 0; n < 7; n++) {
        const metadata = { title: `Thread ${n}`, status: n % 2 ? "failed" : "completed", agent: n < 3 ? "a" : "b" };
        await store.append(`thread_${n}`, { kind: "note", payload: { text: `word${n}` } }, { metadata });
        const written = Date.now();
        await expect.poll(() => Date.now(), { interval: 1 }).toBeGreaterThan(written + 1); // another time for the next one
      }
      const times = (await store.list({ order: "id" })).threads.map(({ updatedAt }) => updatedAt);
      const ids = async (query: string) => {
        const found: string[] = [];
        for (let cursor: string | undefined; ; ) {
          const page = cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`;
          const { body } = await api.get(`/threads?${query}${page}`);
          found.push(...body.threads.map(({ id }: Body) => Number(id.slice(7))));
          cursor = body.cursor;
          if (cursor === undefined) return found;
        }
      };
      expect(await ids("")).toEqual([6, 5, 4, 3, 2, 1, 0]);
      expect(await ids("limit=2")).toEqual([6, 5, 4, 3, 2, 1, 0]);
      expect(await ids("limit=2&status=failed")).toEqual([5, 3, 1]);
      expect(await ids("limit=1&agent=a")).toEqual([2, 1, 0]);
      expect(await ids(`limit=2&since=${times[3]}&until=${times[5]}`)).toEqual([5, 4, 3]);
      expect(await ids("search=WORD4")).toEqual([4]);
      expect(await ids("order=created&limit=3")).toEqual([6, 5, 4, 3, 2, 1, 0]);
    });

    test("what a model would see, at any moment and by any policy", async () => {
      const { api } = await withStore();
      const id = await api.newThread();
      await api.asked(id, "What is 1 + 1?");
      await api.asked(id, "What is 2 + 2?");
      const { body } = await api.post(`/threads/${id}/view`, { atSeq: 3, system: "Be brief." });
      expect(body.messages[0]).toEqual({ role: "system", content: "Be brief." });
      expect(body.messages.length).toBe(5);
      expect(body.meta.basisLastSeq).toBe(3);
      expect(body.explained.map(({ status }: Body) => status)).toEqual(["shown", "shown", "shown", "shown"]);
      const short = await api.post(`/threads/${id}/view`, { policy: { maxTurns: 1 }, tools: [] });
      expect(short.body.messages.map(({ role }: Body) => role)).toEqual([
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
      ]);
      expect(short.body.explained[0]).toMatchObject({ status: "cut", rule: "before_window" });
      const tight = await api.post(`/threads/${id}/view`, { policy: { maxInputTokens: 20, reserveOutputTokens: 1 } });
      expect(tight).toMatchObject({ status: 422, body: { error: { code: "budget_overflow" } } });
      expect(tight.body.error.needed).toBeGreaterThan(tight.body.error.available);
    });

    test("each call: proven, explained, compared with the one before, in every wire format", async () => {
      const { api } = await withStore();
      const id = await api.newThread();
      await api.asked(id, "What is 1 + 1?");
      const { calls } = (await api.get(`/threads/${id}/calls`)).body;
      expect(calls.map(({ seq }: Body) => seq)).toEqual([3, 1]);
      expect((await api.get(`/threads/${id}/calls?before=3&limit=5`)).body.calls.map(({ seq }: Body) => seq)).toEqual([
        1,
      ]);
      expect((await api.get(`/threads/${id}/calls?before=0`)).body.calls).toEqual([]);
      const [last, first] = calls;
      const { body } = await api.get(`/threads/${id}/calls/${last.callId}?seq=3`);
      expect(body.proven).toBe(true);
      expect(body.provenance.length).toBe(body.messages.length);
      expect(body.meta.fingerprint).toBe(last.fingerprint);
      expect(body.environment.systemPrompt).toContain("offline demo");
      expect(body.policy.maxInputTokens).toBe(4000);
      expect(body.explained.length).toBe(3);
      expect(body.previous).toEqual({ callId: first.callId, stablePrefix: 2 });
      expect((await api.get(`/threads/${id}/calls/${first.callId}`)).body.previous).toBeUndefined();
      for (const provider of ["openai-chat", "openai-responses", "anthropic", "gemini", "ai-sdk"]) {
        const wire = await api.get(`/threads/${id}/calls/${last.callId}/wire?provider=${provider}`);
        expect(wire.body).toMatchObject({ provider, proven: true });
        expect(JSON.stringify(wire.body.body)).toContain("1 + 1");
      }
      const diff = (await api.get(`/threads/${id}/diff?a=${first.callId}&b=${last.callId}`)).body;
      expect(diff.same).toBe(2);
      expect(diff.changes.map(({ kind }: Body) => kind)).toEqual(["same", "same", "added", "added"]);
      expect(diff.causes.map(({ rule }: Body) => rule)).toEqual(["appended"]);
    });

    test("an approval: the request waits, the thread says for what, and approving runs the tool once", async () => {
      const { api } = await withStore();
      const id = await api.newThread();
      const events = await api.events(`/threads/${id}/events`);
      await api.post(`/threads/${id}/ask`, { content: "Send 20 euros to Ada." });
      await events.until(({ event, data }) => event === "thread" && data.status === "waiting");
      const { request } = (await api.get(`/threads/${id}`)).body;
      expect(request.waiting).toEqual([
        { toolCallId: "call_1", name: "send_money", arguments: { to: "Ada", euros: 20 }, kind: "approval" },
      ]);
      expect((await api.post(`/threads/${id}/approve`, { toolCallId: "call_9" })).body.error.code).toBe("not_waiting");
      expect((await api.post(`/threads/${id}/approve`, { toolCallId: "call_1", reason: "fine" })).status).toBe(200);
      const end = await events.until(({ event, data }) => event === "agent" && isEnd(data.kind));
      expect(end.data).toMatchObject({ kind: "request_completed" });
      expect(end.data.data.text).toMatch(/^Done: 20 euros for Ada/);
      const agentSeqs = events.told.filter(({ event }) => event === "agent").map(({ data }) => data.seq);
      expect(agentSeqs).toEqual(agentSeqs.map((_, index) => index + 1));
      expect((await api.post(`/threads/${id}/deny`, { toolCallId: "call_1" })).status).toBe(409);
    });

    test("an edit and a regenerate begin branches, and the thread says which entries and siblings they have", async () => {
      const { api, store } = await withStore();
      const id = await api.newThread();
      const turn = async (body: object) => {
        const events = await api.events(`/threads/${id}/events`);
        const { status, body: asked } = await api.post(`/threads/${id}/ask`, body);
        expect(status).toBe(202);
        await events.until(
          ({ event, data }) => event === "agent" && data.requestId === asked.requestId && isEnd(data.kind),
        );
        events.close();
        const { branches } = (await api.get(`/threads/${id}`)).body;
        return { requestId: asked.requestId, branches };
      };
      const entries = await api.asked(id, "What is 1 + 1?");
      const [first] = entries;
      expect((await api.get(`/threads/${id}`)).body.branches).toBeUndefined();
      const edited = await turn({ content: "What is 2 + 2?", edit: first.id });
      expect(edited.branches.hidden).toEqual([[0, entries.length - 1]]);
      expect(edited.branches.siblings[first.id]).toMatchObject({ index: 1, count: 2 });
      const again = await turn({ regenerate: edited.requestId });
      expect(again.branches.siblings).toMatchObject({
        [first.id]: { index: 1, count: 2, lanes: ["default", expect.anything()] },
        [again.requestId]: { index: 1, count: 2 },
      });
      const shown = (await api.post(`/threads/${id}/view`)).body.messages.filter(({ role }: Body) => role === "user");
      expect(shown).toEqual([{ role: "user", content: "What is 2 + 2?" }]);
      await api.post(`/threads/${id}/context`, {
        ...{ contextRef: "default", operation: { type: "switch", reason: "manual" } },
      });
      const { branches } = (await api.get(`/threads/${id}`)).body;
      expect(branches.siblings[first.id]).toMatchObject({ index: 0, count: 2 });
      expect((await api.post(`/threads/${id}/ask`, { regenerate: "none" })).status).toBe(404);
      expect((await store.list()).threads.length).toBe(1);
    });

    test("a message denies the call that waits, with its text as the reason, or cancels the request", async () => {
      const { api } = await withStore();
      const id = await api.newThread();
      const waiting = async (content: string) => {
        const events = await api.events(`/threads/${id}/events`);
        await api.post(`/threads/${id}/ask`, { content });
        await events.until(({ event, data }) => event === "thread" && data.status === "waiting");
        return events;
      };
      const events = await waiting("Send 20 euros to Ada.");
      expect((await api.post(`/threads/${id}/ask`, { content: "Not to her.", busy: "deny" })).status).toBe(202);
      await events.until(({ event, data }) => event === "agent" && isEnd(data.kind));
      const { entries } = (await api.get(`/threads/${id}/entries?kinds=approval_resolved`)).body;
      expect(entries[0].payload).toMatchObject({ approved: false, by: "studio", reason: "Not to her." });
      events.close();
      const second = await waiting("Send 30 euros to Ada.");
      await api.post(`/threads/${id}/ask`, { content: "What is 6 * 7?", busy: "cancel" });
      await second.until(({ event, data }) => event === "agent" && data.kind === "request_completed");
      second.close();
      const ends = (await api.get(`/threads/${id}/entries?kinds=error`)).body.entries;
      expect(ends.map(({ payload }: Body) => payload.code)).toEqual(["request_cancelled"]);
      expect((await api.post(`/threads/${id}/ask`, { content: "x", busy: "shout" })).status).toBe(400);
    });

    test("a denied call is not run, and the model gets the reason", async () => {
      const { api } = await withStore();
      const id = await api.newThread();
      const events = await api.events(`/threads/${id}/events`);
      await api.post(`/threads/${id}/ask`, { content: "Send 20 euros to Ada." });
      await events.until(({ event, data }) => event === "thread" && data.status === "waiting");
      await api.post(`/threads/${id}/deny`, { toolCallId: "call_1", reason: "too much" });
      const end = await events.until(({ event, data }) => event === "agent" && isEnd(data.kind));
      expect(end.data.data.text).toMatch(/^Nothing was sent to Ada: .*too much/);
    });

    test("a tool that runs outside is answered", async () => {
      const model = scriptedModel([{ calls: [{ id: "c1", name: "where" }] }, { text: "You are in Oslo." }]);
      const where = defineTool({ inputSchema: { type: "object" } });
      const { api } = await withStore({ agent: defineAgent({ model, tools: { where } }) });
      const id = await api.newThread();
      const events = await api.events(`/threads/${id}/events`);
      await api.post(`/threads/${id}/ask`, { content: "Where am I?" });
      await events.until(({ data }) => data.kind === "answer_requested");
      const { request } = (await api.get(`/threads/${id}`)).body;
      expect(request.waiting).toEqual([{ toolCallId: "c1", name: "where", arguments: {}, kind: "answer" }]);
      await api.post(`/threads/${id}/answer`, { toolCallId: "c1", output: "Oslo" });
      const end = await events.until(({ event, data }) => event === "agent" && isEnd(data.kind));
      expect(end.data.data.text).toBe("You are in Oslo.");
    });

    test("steering and cancelling a request that is running, and one that is not", async () => {
      const model = scriptedModel([{ text: ["Once", " upon"], hang: true }]);
      const { api } = await withStore({ agent: defineAgent({ model }) });
      const id = await api.newThread();
      const idle = await api.post(`/threads/${id}/steer`, { content: "faster" });
      expect(idle).toMatchObject({ status: 409, body: { accepted: false, reason: "idle" } });
      expect((await api.post(`/threads/${id}/cancel`)).body).toEqual({ cancelled: false });
      const events = await api.events(`/threads/${id}/events`);
      const { body } = await api.post(`/threads/${id}/ask`, { content: "A story, please." });
      await events.until(({ data }) => data.kind === "llm_delta" && data.data.text === " upon");
      expect((await api.get(`/threads/${id}`)).body).toMatchObject({
        live: true,
        status: "running",
        request: { id: body.requestId },
      });
      expect((await api.post(`/threads/${id}/steer`, { content: "shorter" })).status).toBe(202);
      expect((await api.post(`/threads/${id}/ask`, { content: "And?" })).body.error.code).toBe("busy");
      expect((await api.delete(`/threads/${id}`)).body.error.code).toBe("busy");
      const cancelled = await api.post(`/threads/${id}/cancel`, { requestId: body.requestId, reason: "enough" });
      expect(cancelled.body).toEqual({ cancelled: true });
      await events.until(({ data }) => data.kind === "request_cancelled");
      const { entries } = (await api.get(`/threads/${id}/entries`)).body;
      expect(entries.at(-1).payload).toMatchObject({ end: { status: "cancelled", reason: "enough" } });
      expect(JSON.stringify(entries)).toContain("Once upon");
    });

    test("context: replaced, reset, summarized, and an operation that was sent twice applied once", async () => {
      const { api } = await withStore();
      const id = await api.newThread();
      for (const n of [1, 2, 3]) await api.asked(id, `Tell me chapter ${n} of the story.`);
      const { seq } = (await api.post(`/threads/${id}/summarize`)).body;
      expect((await api.get(`/threads/${id}/entries?from=${seq}`)).body.entries[0].kind).toBe("summary");
      const operation = {
        type: "replace",
        reason: "manual",
        resultContext: { id: "ctx_1", entries: [{ role: "user", content: "only this" }] },
      };
      expect((await api.post(`/threads/${id}/context`, { operation, opId: "op_1" })).body).toEqual({
        opId: "op_1",
        status: "applied",
      });
      expect((await api.post(`/threads/${id}/context`, { operation, opId: "op_1" })).body.status).toBe("duplicate");
      const shown = (await api.post(`/threads/${id}/view`, {})).body.messages;
      expect(shown.map(({ content }: Body) => content).slice(1)).toEqual(["only this"]);
      expect((await api.post(`/threads/${id}/reset`)).body.status).toBe("applied");
      expect((await api.post(`/threads/${id}/view`, { system: "s" })).body.messages.length).toBe(1);
      const lane = { operation: { type: "switch", reason: "manual" }, contextRef: "other", opId: "op_2" };
      await api.post(`/threads/${id}/context`, lane);
      expect((await api.get(`/threads/${id}`)).body).toMatchObject({
        activeLane: "other",
        lanes: ["default", "other"],
      });
    });

    test("a fork is linked from its parent and can be asked, also where a request was open", async () => {
      const { api } = await withStore();
      const id = await api.newThread("Parent");
      await api.asked(id, "What is 1 + 1?");
      for (const atSeq of [1, 3]) {
        const fork = (await api.post(`/threads/${id}/fork`, { atSeq })).body;
        expect(fork).toMatchObject({ title: "Parent (fork)", parentThreadId: id, forkSeq: atSeq, live: false });
        const entries = await api.asked(fork.id, "What is 5 * 5?");
        expect(entries.at(-1).payload.content).toBe("5 * 5 is **25**.");
        expect((await api.get(`/threads/${fork.id}`)).body.status).toBe("completed");
      }
      const { forks } = (await api.get(`/threads/${id}`)).body;
      expect(forks.map(({ forkSeq }: Body) => forkSeq).sort()).toEqual([1, 3]);
      expect((await api.get(`/threads/${id}/entries`)).body.rev).toBe(4);
      await api.delete(`/threads/${forks[0].id}`);
      expect((await api.get(`/threads/${id}`)).body.forks).toEqual([forks[1]]);
    });

    test("a deleted thread is gone", async () => {
      const { api } = await withStore();
      const id = await api.newThread();
      expect((await api.delete(`/threads/${id}`)).body).toEqual({ deleted: true });
      expect((await api.get(`/threads/${id}`)).status).toBe(404);
      expect((await api.delete(`/threads/${id}`)).body.error.code).toBe("thread_not_found");
    });

    test("exports come back by import, with calls that are still proven", async () => {
      const { api } = await withStore();
      const id = await api.newThread();
      await api.asked(id, "What is 1 + 1?");
      const other = await started();
      for (const format of ["json", "jsonl"]) {
        const { body, headers } = await api.get(`/threads/${id}/export?format=${format}`);
        expect(headers.get("content-disposition")).toBe(`attachment; filename="heddle-${id}.${format}"`);
        const text = typeof body === "string" ? body : JSON.stringify(body);
        const imported = (await other.api.post("/import", text)).body;
        expect(imported).toMatchObject({ title: "What is 1 + 1?", rev: 4 });
        const { calls } = (await other.api.get(`/threads/${imported.id}/calls`)).body;
        expect((await other.api.get(`/threads/${imported.id}/calls/${calls[0].callId}`)).body.proven).toBe(true);
      }
    });

    test("the demo goes through a long talk, and its summary is in the log", async () => {
      const { api } = await withStore({ agent: demoAgent({ wordMs: 0 }) });
      const id = await api.newThread();
      const { prompts } = (await api.get("/info")).body;
      const { text, next } = prompts.at(-1);
      const events = await api.events(`/threads/${id}/events`);
      await api.post(`/threads/${id}/ask`, { content: text });
      let ends = 0;
      await events.until(({ data }) => data.kind === "request_completed" && ++ends === next.length + 1);
      const kinds = events.told.filter(({ event }) => event === "entry").map(({ data }) => data.entry.kind);
      expect(kinds).toContain("summary");
      const { calls } = (await api.get(`/threads/${id}/calls`)).body;
      const details = await Promise.all(
        calls.map(async ({ callId }: Body) => (await api.get(`/threads/${id}/calls/${callId}`)).body),
      );
      expect(details.every(({ proven }) => proven)).toBe(true);
      expect(details.map(({ previous }) => previous?.firstChange?.rule)).toContain("summary_added");
    });
  });
}
