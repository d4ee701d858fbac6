import { memoryStore } from "heddle";
import { toUIMessages } from "heddle/ai-sdk";
import { sqliteStore } from "heddle/sqlite";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { stage, told } from "../support/stage.ts";

const NODE = { holder: "node" };
const ADA = { id: "u1", name: "Ada" };
const BOB = { id: "u2" };

describe.each([
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(fastFile())],
])("authors on %s", (_name, open) => {
  test("are stored with asks, steers and follow-ups, also those that wait, and the next process shows them", async () => {
    const on = await stage({ store: await open() });
    const first = await on.start({ script: [{ hang: true }], busy: "queue" }, NODE);
    await on.end(first.ask("Weave.", { author: ADA }));
    first.ask("And then?", { requestId: "next", author: BOB }).catch(() => undefined);
    await on.end(first.steer("Faster.", { id: "s", author: BOB }));
    await on.end(first.followUp("Once more.", { id: "f", author: ADA }));
    expect(await first.pending()).toMatchObject([
      { id: "next", author: BOB },
      { id: "s", author: BOB },
      { id: "f", author: ADA },
    ]);
    const script = [
      { expect: "From u2:\nFaster.", text: "One." },
      { expect: "From Ada:\nOnce more.", text: "Two." },
      { expect: "From u2:\nAnd then?", text: "Three." },
    ];
    const second = await on.start({ script, busy: "queue" }, NODE);
    await on.pass(200);
    const log = await on.log();
    expect(told(log).at(-1)).toBe("says Three. end:completed");
    const authors = log.flatMap(({ payload }) => ("author" in payload ? [payload["author"]] : []));
    expect(authors).toEqual([ADA, BOB, ADA, BOB]);
    const messages = toUIMessages(await second.thread()).filter(({ role }) => role === "user");
    expect(messages.map(({ metadata }) => metadata)).toEqual([
      { heddle: { author: ADA } },
      { heddle: { author: BOB } },
    ]);
  });

  test("are refused when they are malformed, and of messages that have none", async () => {
    const on = await stage({ store: await open() });
    const server = await on.start({ script: [{ text: "One.", delayMs: 50 }] }, NODE);
    const refused = { code: "invalid_options" };
    for (const author of [{}, "Ada", { id: "" }, { id: "a\nb" }, { id: "u", name: 7 }, { id: "u", nick: "A" }]) {
      await expect(server.ask("Hi", { author: author as never })).rejects.toMatchObject(refused);
    }
    const { id, result } = await on.end(server.ask("Hi"));
    await expect(server.steer("Hm", { author: { name: "Ada" } as never })).rejects.toMatchObject(refused);
    await expect(server.inject("Hm", { author: ADA, source: "ci" } as never)).rejects.toMatchObject(refused);
    await on.end(result);
    await expect(server.continueRequest(id, { author: ADA })).rejects.toMatchObject(refused);
    expect((await on.log()).some(({ payload }) => "author" in payload)).toBe(false);
  });
});
