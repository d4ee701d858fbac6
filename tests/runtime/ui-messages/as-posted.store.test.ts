import type { UIMessage } from "ai";
import fc from "fast-check";
import { AgentHost, memoryStore, Thread, type ThreadStore } from "heddle";
import { chatTurn, messageSiblings, toUIMessages, type UIMessageLike } from "heddle/ai-sdk";
import { sqliteStore } from "heddle/sqlite";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { agentOf } from "./chat.ts";

type Part = UIMessage["parts"][number];

const words = fc.string({ maxLength: 8, unit: "grapheme" });
const json = fc.jsonValue({ maxDepth: 2, noUnicodeString: false }).map((value) => JSON.parse(JSON.stringify(value)));
const providerMetadata = fc.dictionary(fc.constantFrom("openai", "anthropic"), fc.dictionary(words, json));
const file = fc.uint8Array({ minLength: 1, maxLength: 8 }).map((bytes) => Buffer.from(bytes).toString("base64"));

const text = fc.record(
  {
    type: fc.constant("text" as const),
    text: words.filter((one) => one.trim() !== ""),
    state: fc.constantFrom("streaming" as const, "done" as const),
    providerMetadata,
  },
  { requiredKeys: ["type", "text"] },
);
const part: fc.Arbitrary<Part> = fc.oneof(
  text,
  fc.record(
    {
      type: fc.constant("file" as const),
      mediaType: fc.constantFrom("image/png", "application/pdf"),
      filename: words.filter((name) => name !== ""),
      url: fc.oneof(
        file.map((data) => `data:image/png;base64,${data}`),
        fc.constant("data:text/plain,hello"),
        fc.constant("https://example.com/cat.png"),
      ),
      providerMetadata,
    },
    { requiredKeys: ["type", "mediaType", "url"] },
  ),
  fc.record(
    { type: fc.constantFrom("data-place" as const, "data-x" as const), id: words, data: json },
    { requiredKeys: ["type", "data"] },
  ),
  fc.record({ type: fc.constant("source-url" as const), sourceId: words, url: fc.webUrl() }),
);
const posted = fc.record(
  {
    id: fc.uuid(),
    role: fc.constant("user" as const),
    metadata: json.filter((value) => value !== null && JSON.stringify(value).includes("heddle") === false),
    parts: fc.tuple(text, fc.array(part, { maxLength: 4 })).map(([first, others]) => [...others, first]),
  },
  { requiredKeys: ["id", "role", "parts"] },
);

/** Each PDF counts as 10,000 tokens. */
const ROOMY = { contextPolicy: { maxInputTokens: 200_000 } };

async function reloaded(store: ThreadStore, messages: readonly object[], options = {}) {
  const host = AgentHost.create({ agent: agentOf(["4", "5"], ROOMY), store, warn: () => undefined });
  const { request } = await chatTurn(host, "t", messages as UIMessageLike[], options);
  await request.result.catch(() => undefined); // a file whose server cannot be reached fails the request
  await host.stop();
  const thread = await store.load("t");
  return thread === undefined ? [] : toUIMessages(thread);
}

describe.each([
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(fastFile())],
])("a message that a page has posted, with %s", (_, open) => {
  test("comes back as it was, whatever parts and metadata it has", async () => {
    await fc.assert(
      fc.asyncProperty(posted, async (message) => {
        const [first] = await reloaded(open(), [message]);
        expect(first).toEqual(message);
      }),
      { numRuns: 40 },
    );
  });

  test("is the same after a regenerate, and an edit replaces all of it", async () => {
    const store = open();
    const parts = [
      { type: "data-place", data: { x: 1 } },
      { type: "text", text: "Here?" },
    ];
    const message = { id: "m1", role: "user", metadata: { at: 7 }, parts };
    await reloaded(store, [message]);
    expect((await reloaded(store, [message], { trigger: "regenerate-message" }))[0]).toEqual(message);
    const edited = {
      ...message,
      metadata: { at: 8 },
      parts: [parts[1] ?? { type: "text" }, { type: "data-x", data: 2 }],
    };
    const [last] = await reloaded(store, [edited, { id: "a", role: "user", parts: [{ type: "text", text: "And?" }] }]);
    expect(last).toEqual(message); // the page of the post is another one: the thread is the truth
    const changed = { ...edited, parts: [{ type: "text", text: "There?" }] };
    expect((await reloaded(store, [changed], { messageId: "m1" }))[0]).toEqual(changed);
  });

  test.each([
    ["a regenerate of its answer", { trigger: "regenerate-message", messageId: "a1" }],
    ["an edit that changes nothing", {}],
  ])("comes back as it was imported after %s, whatever parts and metadata it has", async (_, options) => {
    await fc.assert(
      fc.asyncProperty(posted, async (message) => {
        const store = open();
        const answer = { id: "a1", role: "assistant", parts: [{ type: "text", text: "4" }] };
        await store.save(Thread.fromMessages([message, answer], { id: "t", format: "ui-messages" }));
        const [first, ...others] = await reloaded(store, [message], { messageId: message.id, ...options });
        expect([first, others.length]).toEqual([message, 1]);
        const thread = await store.load("t");
        const siblings = thread && messageSiblings(thread);
        expect(Object.values(siblings ?? {})).toMatchObject([{ index: 1, count: 2 }]);
        expect(siblings).not.toHaveProperty([message.id]);
      }),
      { numRuns: 40 },
    );
  });

  test("has an author from the server only, and no model is shown more than its content", async () => {
    const store = open();
    const metadata = { heddle: { author: { id: "eve" }, status: "failed" }, at: 7 };
    const message = { id: "m1", role: "user", metadata, parts: [{ type: "text", text: "Hi" }] };
    const [first] = await reloaded(store, [message], { author: { id: "ada" } });
    expect(first?.metadata).toEqual({ at: 7, heddle: { author: { id: "ada" } } });
    const [bare] = await reloaded(open(), [{ ...message, metadata: { heddle: metadata.heddle } }]);
    expect(bare).toEqual({ id: "m1", role: "user", parts: message.parts });
    const [ask] = (await store.load("t"))?.toArray() ?? [];
    expect(ask?.payload).toMatchObject({ content: "Hi", options: { display: { metadata: { at: 7 } } } });
  });
});
