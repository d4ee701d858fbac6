import {
  type ContextPolicyInput,
  type EntryInput,
  type JsonValue,
  type Message,
  type ProjectionInput,
  project,
  Thread,
} from "heddle";
import { user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { ai, given } from "./given.ts";

const model = "anthropic:claude-opus-4";
const signed = (text: string): JsonValue => [
  { text, provider: "anthropic", model: "claude-opus-4", metadata: { anthropic: { signature: `of ${text}` } } },
];
const look = { name: "look", description: "Looks.", inputSchema: { type: "object" } };
const asked: Omit<ProjectionInput, "thread"> = { model, system: "Be kind.", tools: [look] };

/** What a runtime does: projects, asks the model, and records what it was shown with what it answered. */
function ask(thread: Thread, n: number, input: Omit<ProjectionInput, "thread"> = asked): Thread {
  const { fingerprint } = project({ thread, ...input }).meta;
  const refs = { callId: `m${n}`, requestId: "r1" };
  const toolCalls = [{ id: `c${n}`, name: "look", arguments: { n } }];
  const call = ai(
    "assistant",
    `Step ${n}.`,
    { toolCalls, thinking: signed(`idea ${n}`), call: { model, fingerprint } },
    { refs },
  );
  return thread.append([
    call,
    ai("tool", `found ${n} ${"x".repeat(200)}`, { toolCallId: `c${n}`, name: "look" }, { refs }),
  ]);
}

function run(steps: number, input = asked): Thread {
  let thread = given(user("go", { refs: { requestId: "r1" } }));
  for (let n = 0; n < steps; n++) thread = ask(thread, n, input);
  return thread;
}

const thoughts = ({ messages }: { readonly messages: readonly Message[] }): string[] =>
  messages.flatMap(({ content }) =>
    typeof content === "string" ? [] : content.flatMap((part) => (part.type === "thinking" ? [part.text] : [])),
  );

/** The turn is over: only what was shown unchanged keeps its thinking. */
const answered = (thread: Thread): Thread => thread.append(ai("assistant", "Done."));
const ALL = ["idea 0", "idea 1", "idea 2"];

describe("thinking, automatically", () => {
  const thread = run(3);

  test("is sent back word for word, with its signature, as long as nothing before it has changed", () => {
    const { messages, meta } = project({ thread, ...asked });
    expect(thoughts({ messages })).toEqual(ALL);
    expect(messages[2]?.content).toEqual([
      {
        type: "thinking",
        text: "idea 0",
        provider: "anthropic",
        model: "claude-opus-4",
        metadata: { anthropic: { signature: "of idea 0" } },
      },
      { type: "text", text: "Step 0." },
    ]);
    expect(meta.thinkingDropped).toEqual([]);
  });

  test.each<[string, Partial<ProjectionInput>]>([
    ["the system prompt is another", { system: "Be brief." }],
    ["there is none any more", { system: "" }],
    ["a tool is described in other words", { tools: [{ ...look, description: "Looks closely." }] }],
    ["a tool was added", { tools: [look, { ...look, name: "see" }] }],
    ["another model is asked", { model: "anthropic:claude-haiku-4" }],
    ["another provider is asked", { model: "openai:claude-opus-4" }],
    ["no model is named", { model: undefined }],
  ])("is left out when %s", (_, change) => {
    const { messages, meta } = project({ thread: answered(thread), ...asked, ...change });
    expect(thoughts({ messages })).toEqual([]);
    expect(meta.thinkingDropped).toEqual([1, 3, 5]);
    expect(meta.view.thinkingDropped).toEqual([1, 3, 5]);
    expect(messages.filter(({ role }) => role === "assistant").map(({ content }) => content)).toEqual([
      "Step 0.",
      "Step 1.",
      "Step 2.",
      "Done.",
    ]);
  });

  test("knows a provider by its first name, and a model by either way of writing it", () => {
    for (const same of ["anthropic/claude-opus-4", "anthropic.messages:claude-opus-4"]) {
      expect(thoughts(project({ thread, ...asked, model: same }))).toEqual(ALL);
    }
  });

  test("is left out after a cut: the messages before it are no longer there", () => {
    const long = answered(run(8));
    const policy: ContextPolicyInput = { maxInputTokens: 450, reserveOutputTokens: 0 };
    const { messages, meta } = project({ thread: long, ...asked, policy });
    expect(meta.truncated).toBe(true);
    expect(messages.some(({ role }) => role === "assistant")).toBe(true);
    expect(thoughts({ messages })).toEqual([]);
  });

  test("that was made after a cut is kept while the window stays where it is", () => {
    const policy: ContextPolicyInput = { maxInputTokens: 700, reserveOutputTokens: 0 };
    const input = { ...asked, policy };
    const long = run(9, input);
    const start = project({ thread: long, ...input }).meta.cutSeq;
    expect(start).toBeGreaterThan(0);
    const after = project({ thread: ask(long, 9, input), ...input });
    expect(after.meta.cutSeq).toBe(start);
    expect(thoughts(after)).toContain("idea 9");
    expect(thoughts(after)).not.toContain("idea 0");
  });

  test("goes with what changed before it, from there on", () => {
    const late = thread.append(user("hurry", { refs: { requestId: "r1" } }));
    const steered = ask(late, 3);
    expect(thoughts(project({ thread: steered, ...asked }))).toEqual([...ALL, "idea 3"]);
    const { refs } = thread.at(1) ?? {};
    const unrecorded = given(
      user("go"),
      ai(
        "assistant",
        "Step.",
        { thinking: signed("idea"), toolCalls: [{ id: "c", name: "look", arguments: {} }], call: { model } },
        refs && { refs },
      ),
    );
    expect(thoughts(project({ thread: answered(unrecorded), ...asked }))).toEqual([]);
  });

  test("of an unknown model is left out", () => {
    const thread = given(user("go"));
    const { fingerprint } = project({ thread, ...asked }).meta;
    const answer = (thinking: JsonValue, call: Record<string, string>) =>
      project({
        thread: thread.append([ai("assistant", "Hi.", { thinking, call: { ...call, fingerprint } }), user("so?")]),
        ...asked,
      });
    expect(thoughts(answer("idea", {}))).toEqual([]);
    expect(thoughts(answer("idea", { model }))).toEqual(["idea"]);
    expect(thoughts(answer([{ text: "idea" }], { model }))).toEqual(["idea"]);
    expect(thoughts(answer([{ text: "idea", provider: "openai" }], { model }))).toEqual([]);
    const nobody = ai("assistant", "Hi.", { thinking: "idea", call: { fingerprint } });
    expect(thoughts(project({ thread: thread.append(nobody), ...asked, model: undefined }))).toEqual([]);
  });

  test("that is dropped leaves what comes after it to be judged by what is really sent", () => {
    const first = answered(ask(given(user("go")), 0, { ...asked, system: "Be brief." }));
    const { messages, meta } = project({ thread: answered(ask(first.append(user("on")), 1)), ...asked });
    expect(thoughts({ messages })).toEqual(["idea 1"]);
    expect(meta.thinkingDropped).toEqual([1]);
  });
});

test("thinking in the content of an entry is that of the model of its call", () => {
  const said = {
    role: "assistant",
    content: [
      { type: "thinking", text: "idea" },
      { type: "text", text: "Hi." },
    ],
  } as const;
  const messages: readonly Message[] = [{ role: "user", content: "go" }, { ...said }];
  const { fingerprint } = project({ thread: given(user("go")), ...asked }).meta;
  const entries = Thread.fromMessages(messages, { format: "neutral" }).toArray();
  const thread = Thread.create().append(
    entries.map(({ kind, payload }) =>
      payload["role"] === "assistant"
        ? { kind, payload: { ...payload, call: { model, fingerprint } } }
        : { kind, payload },
    ),
  );
  expect(thoughts(project({ thread, ...asked }))).toEqual(["idea"]);
  expect(thoughts(project({ thread, ...asked, model: "anthropic:claude-haiku-4" }))).toEqual([]);
  expect(thoughts(project({ thread, ...asked, rules: "heddle/1" }))).toEqual([]);
});

describe("thinking of the running turn", () => {
  const long = run(8);
  const policy: ContextPolicyInput = { maxInputTokens: 450, reserveOutputTokens: 0 };

  test("is kept when the window has moved inside the tool loop, and named as stale", () => {
    const { messages, meta } = project({ thread: long, ...asked, policy });
    expect(meta.truncated).toBe(true);
    expect(thoughts({ messages })).toEqual(["idea 3", "idea 4", "idea 5", "idea 6", "idea 7"]);
    expect(meta.thinkingDropped).toEqual([]);
    expect(meta.view.thinkingStale).toEqual([7, 9, 11, 13, 15]);
  });

  test("is kept behind a summary", () => {
    const content = "They looked.";
    const summed = long.append({ kind: "summary", payload: { fromSeq: 0, toSeq: 8, content } });
    const { messages } = project({ thread: summed, ...asked });
    expect(messages[1]?.content).toContain(content);
    expect(thoughts({ messages })).toEqual(["idea 4", "idea 5", "idea 6", "idea 7"]);
  });

  test("is kept where a user message comes after results, which Anthropic reads as one message", () => {
    const steered = long.append(user("hurry"));
    expect(thoughts(project({ thread: steered, ...asked, policy })).at(-1)).toBe("idea 7");
  });

  test("is that of the model asked only", () => {
    expect(thoughts(project({ thread: long, ...asked, policy, model: "anthropic:claude-haiku-4" }))).toEqual([]);
  });

  test("is left out in heddle/1", () => {
    const { messages, meta } = project({ thread: long, ...asked, policy, rules: "heddle/1" });
    expect(thoughts({ messages })).toEqual([]);
    expect(meta.view).not.toHaveProperty("thinkingStale");
  });

  test("that nothing has changed before is not stale", () => {
    expect(project({ thread: long, ...asked }).meta.view).not.toHaveProperty("thinkingStale");
  });
});

describe("thinking, always or never", () => {
  const changed: Omit<ProjectionInput, "thread"> = { model: "openai:gpt-5", system: "Be brief." };

  test("is kept whatever has changed", () => {
    const { messages, meta } = project({ thread: run(3), ...changed, policy: { thinking: "keep" } });
    expect(thoughts({ messages })).toEqual(ALL);
    expect(meta.thinkingDropped).toEqual([]);
  });

  test("is dropped although nothing has changed", () => {
    const { messages, meta } = project({ thread: run(3), ...asked, policy: { thinking: "drop" } });
    expect(thoughts({ messages })).toEqual([]);
    expect(meta.thinkingDropped).toEqual([1, 3, 5]);
  });

  test("costs tokens only where it is sent", () => {
    const thread = run(3);
    const cost = (thinking: "keep" | "drop") =>
      project({ thread, ...asked, policy: { thinking } }).meta.estimatedTokens;
    expect(cost("keep")).toBeGreaterThan(cost("drop"));
  });
});

test("an answer with only thinking is blank", () => {
  const entries: EntryInput[] = [user("go"), ai("assistant", "", { thinking: signed("idea") }), user("so?")];
  const { messages, meta } = project({ thread: given(...entries), policy: { thinking: "keep" } });
  expect(messages).toHaveLength(2);
  expect(meta.dropped).toEqual([1]);
});
