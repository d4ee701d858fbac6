import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { memoryStore } from "heddle";
import { expect, test } from "vitest";
import { linesOf } from "../../src/studio/routes/import.ts";
import { fastFolder } from "../support/temp-folder.ts";
import { type Body, started } from "./support/client.ts";

const dataIn = (html: string): Body => JSON.parse(/id="heddle-data">([^<]*)<\/script>/.exec(html)?.[1] ?? "");

/** A folder as the build of the page leaves it. */
function pageFolder(files: { readonly [path: string]: string }): string {
  const folder = fastFolder();
  mkdirSync(join(folder, "assets"));
  for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, path), text);
  return folder;
}

test("an export as a page is one file whose data nothing in the thread can break out of", async () => {
  const store = memoryStore();
  const nasty = '</script><script>alert(1)</script><!-- $& $1 \u2028 "heddle-data"';
  await store.append("thread_1", { kind: "message", payload: { role: "user", content: nasty } });
  const template =
    '<!doctype html><title>T</title><script type="application/json" id="heddle-data"></script><script>go()</script>';
  const pages = [
    await started({ store }),
    await started({ store, ui: pageFolder({ "index.html": "<p>", "export.html": template }) }),
  ];
  for (const { api } of pages) {
    const { body, headers } = await api.get("/threads/thread_1/export?format=html");
    expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
    const data = dataIn(body);
    expect(data.thread.entries[0].payload.content).toBe(nasty);
    expect(data.row.id).toBe("thread_1");
    expect(body.match(/<script/g)?.length).toBe(2);
    expect(body).not.toMatch(/(src|href)=/);
  }
});

test("an export as a page has no hidden or reordering character in its data, and the same values", async () => {
  const store = memoryStore();
  const command = "rm \u202etxt.a\u202c \u2066\u200b\ufeff\u{e0041}";
  await store.append("thread_1", { kind: "tool_call", payload: { id: "c1", name: "run", arguments: { command } } });
  const { api } = await started({ store });
  const { body } = await api.get("/threads/thread_1/export?format=html");
  expect(body).not.toMatch(/[\p{Cf}\p{Default_Ignorable_Code_Point}]/u);
  expect(dataIn(body).thread.entries[0].payload.arguments).toEqual({ command });
});

test("an exported page holds what its calls were made from", async () => {
  const { api } = await started();
  const id = await api.newThread();
  await api.asked(id, "What is 1 + 1?");
  const { thread } = dataIn((await api.get(`/threads/${id}/export?format=html`)).body);
  const { policy, environment } = thread.entries[1].payload.call;
  expect(thread.blobs[policy].maxInputTokens).toBe(4000);
  expect(thread.blobs[environment].systemPrompt).toContain("demo");
});

test("message lists of other formats come in, with a title", async () => {
  const { api } = await started();
  const list = [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Hello there" },
    { role: "assistant", content: "Hi" },
  ];
  for (const format of ["neutral", "openai-chat", "anthropic", "model-messages"]) {
    const { status, body } = await api.post(`/import?format=${format}`, list);
    expect([status, body.title]).toEqual([201, "Hello there"]);
    expect((await api.post(`/threads/${body.id}/view`)).body.messages.map(({ role }: Body) => role)).toEqual([
      "system",
      "user",
      "assistant",
    ]);
  }
});

test("what is there is not overwritten: a second import has an id of its own, and says whose it is", async () => {
  const { api } = await started();
  const id = await api.newThread();
  await api.asked(id, "What is 1 + 1?");
  const { body } = await api.get(`/threads/${id}/export?format=jsonl`);
  const again = (await api.post("/import", body)).body;
  expect(again.id).not.toBe(id);
  expect((await api.get(`/threads/${id}/entries`)).body.rev).toBe(4);
});

test("a request that was open when it was exported is not resumed here", async () => {
  const { api } = await started();
  const id = await api.newThread();
  const events = await api.events(`/threads/${id}/events`);
  await api.post(`/threads/${id}/ask`, { content: "Send 5 euros to Bo." });
  await events.until(({ data }) => data.status === "waiting");
  const { body } = await api.get(`/threads/${id}/export?format=json`);
  const copy = (await api.post("/import", body)).body;
  expect(copy.status).toBe("waiting");
  expect((await api.get(`/threads/${copy.id}`)).body).toMatchObject({ live: false });
});

test("damaged lines are named", async () => {
  const { api } = await started();
  const { error } = (
    await api.post("/import?format=jsonl", '{"format":"heddle.thread/1","id":"t","createdAt":1}\nnonsense')
  ).body;
  expect(error).toMatchObject({ code: "invalid_request", message: "Line 2 must be JSON." });
});

test("the page is served from its folder and from nowhere else", async () => {
  const ui = pageFolder({ "index.html": "<p>Studio</p>", "assets/main.js": "go()", "assets/main.css": "p {}" });
  writeFileSync(join(ui, "..", "outside.txt"), "secret");
  const { api } = await started({ ui });
  const get = async (path: string) => {
    const response = await fetch(`${api.origin}${path}`);
    return [response.status, response.headers.get("content-type")?.split(";")[0], await response.text()];
  };
  expect(await get("/")).toEqual([200, "text/html", "<p>Studio</p>"]);
  expect(await get("/threads/thread_1")).toEqual([200, "text/html", "<p>Studio</p>"]);
  expect(await get("/assets/main.js")).toEqual([200, "text/javascript", "go()"]);
  expect((await get("/assets/none.js"))[0]).toBe(404);
  for (const path of ["/..%2foutside.txt", "/%2e%2e/outside.txt", "/assets/..%2f..%2foutside.txt", "//outside.txt"]) {
    expect(String((await get(path))[2])).not.toContain("secret");
  }
  expect((await fetch(`${api.origin}/`, { method: "POST", body: "{}" })).status).toBe(405);
});

test("what is too long for any other route can be imported, up to a limit of its own, and is exported and imported again", async () => {
  const { api } = await started();
  const list = Array.from({ length: 5000 }, (_, n) => ({
    role: n % 2 ? "assistant" : "user",
    content: `${n} `.repeat(200),
  }));
  const imported = await api.post("/import?format=neutral", list);
  expect(imported).toMatchObject({ status: 201, body: { rev: 5000 } });
  for (const format of ["json", "jsonl"]) {
    const { body } = await api.get(`/threads/${imported.body.id}/export?format=${format}`);
    expect(body.length).toBeGreaterThan(4 * 1024 * 1024);
    const again = await api.post("/import", body);
    expect(again).toMatchObject({ status: 201, body: { rev: 5000 } });
    const last = (await api.get(`/threads/${again.body.id}/entries?last=1`)).body.entries[0];
    expect(last).toEqual((await api.get(`/threads/${imported.body.id}/entries?last=1`)).body.entries[0]);
  }
  const small = await started({ importLimit: 1000 });
  expect((await small.api.get("/info")).body.importLimit).toBe(1000);
  const { status, body } = await small.api.post("/import?format=neutral", list);
  expect([status, body.error.code]).toEqual([413, "body_too_large"]);
  await expect(started({ importLimit: 0 })).rejects.toMatchObject({ code: "invalid_options" });
});

test("lines are lines however the text that holds them is cut", async () => {
  const text = 'one\n\ntwo é\n"three"\n';
  for (let cut = 0; cut <= text.length; cut++) {
    const lines: string[] = [];
    for await (const line of linesOf([text.slice(0, cut), "", text.slice(cut)])) lines.push(line);
    expect(lines).toEqual(text.split("\n"));
  }
});

test("an import that cannot be finished leaves nothing", async () => {
  const store = memoryStore();
  let appends = 0;
  const failing = new Proxy(store, {
    get: (target, name) => {
      if (name === "append" && ++appends === 2) return () => Promise.reject(new Error("The disk is gone."));
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const { api } = await started({ store: failing });
  const list = Array.from({ length: 7000 }, () => ({ role: "user", content: "x" }));
  expect((await api.post("/import?format=neutral", list)).status).toBe(500);
  expect((await store.list()).threads).toEqual([]);
});
