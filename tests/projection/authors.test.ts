import { explain, type JsonValue, type Reader, Thread, transcript } from "heddle";
import { foldLane } from "heddle/core";
import { expect, test } from "vitest";
import { context, given, shown, told } from "./given.ts";

const ADA = { id: "u1", name: "Ada" };
const user = (content: JsonValue, author?: JsonValue) => ({
  kind: "ai_message",
  payload: { role: "user", content, ...(author !== undefined && { author }) },
});

test("the model is shown the name of the author, or else the id, in text and in parts", () => {
  const parts = [{ type: "file", mediaType: "image/png", data: { url: "https://example.com/a.png" } }];
  const { messages } = shown([user("Weave.", ADA), user(parts, { id: "u2" }), user("Go on.")]);
  expect(messages.map(({ content }) => content)).toEqual([
    "From Ada:\nWeave.",
    [{ type: "text", text: "From u2:" }, ...parts],
    "Go on.",
  ]);
});

test("the name is one line, and a value without a name or an id is no author", () => {
  expect(told(shown([user("Hi", { id: "u1", name: "  Grace\n Hopper " })]))).toEqual(["user: From Grace Hopper:\nHi"]);
  for (const author of ["Ada", null, 7, [], {}, { id: 7 }, { id: " " }]) {
    expect(told(shown([user("Hi", author)]))).toEqual(["user: Hi"]);
  }
});

test("a blank message stays blank, and other roles have no author", () => {
  expect(told(shown([user("  ", ADA), user("Hi")]))).toEqual(["user: Hi"]);
  const answer = { kind: "ai_message", payload: { role: "assistant", content: "Yes.", author: ADA } };
  expect(told(shown([user("Hi"), answer]))).toEqual(["user: Hi", "assistant: Yes."]);
});

test("heddle/1 shows no author, so that recorded calls stay the same", () => {
  const entries = [user("Weave.", ADA), context([{ role: "user", content: "Hi", author: ADA }]), user("Go on.", ADA)];
  expect(told(shown(entries, { rules: "heddle/1" }))).toEqual(["user: Hi", "user: Go on."]);
  expect(told(shown(entries))).toEqual(["user: From Ada:\nHi", "user: From Ada:\nGo on."]);
});

test("the name counts for the budget, and explain has it", () => {
  const [named, plain] = [user("Weave.", ADA), user("Weave.")].map((entry) => shown([entry]).meta.estimatedTokens);
  expect(named).toBeGreaterThan(plain ?? 0);
  const thread = given(user("Weave.", ADA), user("Go on."));
  expect(explain({ thread }).map(({ rule, author, tokens }) => [rule, author, tokens > 4])).toEqual([
    ["in_window", "Ada", true],
    ["in_window", undefined, true],
  ]);
});

test("a folded lane and a transcript keep the author, and a reader may name one", () => {
  const thread = given(user("Weave.", ADA));
  expect(foldLane(thread, "default").entries).toMatchObject([{ content: "Weave.", author: ADA }]);
  expect(transcript(thread)).toMatchObject([{ type: "user", content: "Weave.", author: ADA }]);
  const reader: Reader = { version: 1, read: ({ text }) => ({ type: "user", content: String(text), author: ADA }) };
  const mail = Thread.create().append({ kind: "mail", payload: { text: "Hello" } });
  const policy = { includeKinds: ["mail"] };
  expect(explain({ thread: mail, readers: { mail: reader }, policy })[0]).toMatchObject({ author: "Ada" });
});
