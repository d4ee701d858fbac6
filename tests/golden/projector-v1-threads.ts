import { assistant, inLane, note, summary, switchTo, toolCall, toolResult, user } from "../../src/testing/builders.ts";
import type { GoldenInput } from "./projector-v1-project.ts";
import {
  ai,
  calculator,
  fixedOp,
  image,
  long,
  model,
  named,
  oddResults,
  of,
  operation,
  rounds,
  run,
  searched,
  sliding,
  snapshot,
  thinkingRun,
  tight,
  turns,
} from "./projector-v1-words.ts";

const inputs: readonly GoldenInput[] = [
  { name: "an empty thread with a system prompt", entries: [], system: "Be kind." },
  {
    name: "the story of 2+2, in conversation kinds",
    entries: [
      user("What's 2+2?"),
      assistant("4"),
      user("Now multiply by 3"),
      toolCall("c1", "calculator", { left: 4, by: 3 }),
      toolResult("c1", "calculator", { ok: true, value: 12 }),
      assistant("The result is 12"),
    ],
    system: { prompt: "You are a calculator." },
    tools: [calculator],
  },
  {
    name: "the story of 2+2, in AI kinds, with an ask pending",
    entries: [
      ai("user", "What's 2+2?"),
      ai("assistant", "4"),
      ai("user", "Now multiply by 3"),
      ai("assistant", "", { toolCalls: [{ id: "c1", name: "calculator", arguments: { left: 4, by: 3 } }] }),
      ai("tool", "12", { toolCallId: "c1", name: "calculator" }),
      ai("assistant", "The result is 12"),
    ],
    policy: { systemPrompt: "You are a calculator." },
    pending: ["And by 2?", { role: "user", content: [{ type: "text", text: "Please." }] }],
  },
  {
    name: "parallel calls that finish out of order, with the user in the middle",
    entries: [
      user("look"),
      toolCall("a", "look", { at: "left" }),
      toolCall("b", "look", { at: "right" }),
      toolResult("b", "look", "B"),
      user("hurry"),
      toolResult("a", "look", { ok: true, value: ["A", 1, null] }),
      note({ text: "nobody sees this" }),
    ],
  },
  { name: "a call that was interrupted", entries: [user("look"), toolCall("a", "look", {}), user("Did it work?")] },
  {
    name: "orphans, second results, results without an id",
    entries: [
      user("look"),
      toolResult("x", "look", "nobody asked"),
      toolCall("a", "look", {}),
      { kind: "tool_call", payload: { name: "ask", arguments: { who: "all" } } },
      { kind: "tool_result", payload: { name: "ask", result: "by name" } },
      toolResult("a", "look", "first"),
      toolResult("a", "look", "second"),
    ],
  },
  {
    name: "ids that repeat, ids and names that no provider takes",
    entries: [
      user("go"),
      ...rounds(0, 2),
      toolCall("functions.look:0", "web.search", {}),
      toolResult("functions.look:0", "web.search", "found"),
      toolCall("same", "größe", {}),
      toolCall("same", "größe", {}),
      toolResult("same", "größe", "one"),
      toolCall("x".repeat(41), "", {}),
    ],
  },
  {
    name: "texts and calls of one answer, with places",
    entries: [
      user("go"),
      assistant("First. ", of("m1")),
      toolCall("a", "look", {}, of("m1")),
      assistant("Second. ", of("m1")),
      toolCall("b", "look", {}, of("m1")),
      toolResult("b", "look", "B", of("m1")),
      ai(
        "assistant",
        [
          { type: "tool_call", id: "a" },
          { type: "text", text: "Third." },
        ],
        {
          toolCalls: [{ id: "a", name: "look", arguments: {}, metadata: { google: { thoughtSignature: "s" } } }],
        },
      ),
    ],
  },
  {
    name: "blank messages, a system message in mid-history, answers before calls",
    entries: [
      assistant("Hello, I am new."),
      user("  "),
      ai("system", "The loom is closed."),
      user("Then look"),
      assistant("I will. ", of("m1")),
      toolCall("a", "look", {}, of("m2")),
      toolResult("a", "look", "A"),
      assistant(" Done. \n"),
    ],
  },
  {
    name: "results of all sorts",
    entries: [
      user("go"),
      ...oddResults.flatMap((result, n) => [toolCall(`c${n}`, "look", {}), toolResult(`c${n}`, "look", result)]),
    ],
  },
  {
    name: "files, usable and not",
    entries: [
      ai("user", [{ type: "text", text: "" }, { type: "text", text: "See:" }, image]),
      ai("assistant", [image]),
      ai("user", [{ type: "file", mediaType: "image/png", filename: "a.png", data: { url: "no url" } }]),
      ai("assistant", "", { toolCalls: [{ id: "a", name: "draw", arguments: {} }] }),
      ai("tool", [{ type: "text", text: "broken" }, image], { toolCallId: "a", name: "draw", isError: true }),
    ],
  },
  {
    name: "parts with metadata, sources and calls of the provider itself",
    entries: [user("search"), ai("assistant", searched), user("thanks")],
    model: "openai:gpt-5",
  },
  {
    name: "a hundred entries under a summary over 0 to 90",
    entries: [...turns(50), summary(0, 90, "They spoke of weaving.")],
    policy: { maxInputTokens: 32_000 },
    system: "Be kind.",
    pending: "And now?",
  },
  {
    name: "nested summaries, the role of the user, an edge inside an exchange, a late result",
    entries: [
      ...turns(2),
      summary(0, 1, "narrow"),
      user("look"),
      toolCall("a", "look", {}),
      toolCall("b", "look", {}),
      toolResult("a", "look", "A"),
      summary(0, 7, "wide"),
      toolResult("b", "look", "late"),
      user("so?"),
    ],
    policy: { summaryRole: "user" },
  },
  { name: "a summary over an ask that is still open", entries: [...run(4), summary(0, 8, "They looked.")] },
  { name: "a summary over everything", entries: [...turns(2), summary(0, 3, "Done.")] },
  {
    name: "a replaced context with a base, a system prompt and calls of its own",
    entries: [
      ...turns(2),
      operation("default", "op_1", {
        type: "replace",
        baseSeq: 2,
        resultContext: { id: "c", systemPrompt: "Weave.", entries: snapshot },
      }),
      user("go on"),
    ],
    system: "Be kind.",
  },
  {
    name: "a branch of another lane",
    entries: [
      ...turns(2),
      operation("side", "op_1", { type: "switch", from: "default", atSeq: 1 }),
      user("on the side"),
      inLane("default", user("not here")),
      assistant("aside"),
    ],
  },
  {
    name: "another lane than the active one",
    entries: [user("one"), switchTo("side"), user("two")].map(fixedOp),
    lane: "default",
  },
  { name: "a stable window that cuts a request", entries: run(30), policy: tight, system: "You look after looms." },
  { name: "a sliding window that cuts a request", entries: run(30), policy: { ...tight, window: sliding } },
  {
    name: "a stable window over a conversation",
    entries: turns(40),
    policy: { ...tight, window: { mode: "stable", step: 0.25 } },
  },
  { name: "a ceiling on turns", entries: turns(10), policy: { maxTurns: 3, window: sliding } },
  { name: "a ceiling on messages", entries: run(12), policy: { maxMessages: 9 } },
  {
    name: "cleared results",
    entries: run(20),
    policy: { maxInputTokens: 2000, reserveOutputTokens: 0, keepLastTurns: 0, toolResults: { keepLast: 3 } },
  },
  {
    name: "shortened results",
    entries: [user("go"), toolCall("a", "look", {}), toolResult("a", "look", `${"ä☂😀".repeat(40)} end`)],
    policy: { toolResults: { maxTokens: 10 } },
  },
  {
    name: "shrunk results",
    entries: [
      user("go"),
      toolCall("a", "look", {}),
      toolCall("b", "look", {}),
      toolResult("a", "look", long(1, 700)),
      toolResult("b", "look", long(2, 800)),
    ],
    policy: { maxInputTokens: 160, reserveOutputTokens: 0, overflow: "shrink" },
  },
  { name: "thinking that may stay", entries: thinkingRun(), model, system: "Plan.", tools: [calculator] },
  { name: "thinking that may not", entries: thinkingRun(), model, system: "Plan well.", tools: [calculator] },
  { name: "thinking that is kept in any case", entries: thinkingRun(), policy: { thinking: "keep" } },
  {
    name: "a pending result, with a counter that was corrected",
    entries: [...run(14), toolCall("last", "read_log", { from: 0 }, of("call_last"))],
    policy: tight,
    pending: {
      kind: "tool_result",
      payload: { toolCallId: "last", name: "read_log", result: { ok: true, value: "nothing" } },
    },
    calibration: 1.3,
  },
];

/** What the corpus asks. */
export const goldenInputs: readonly GoldenInput[] = inputs.map((input) => ({
  ...input,
  entries: named(input.entries),
}));
