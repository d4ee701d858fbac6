import { assistant, inLane, user } from "../../src/testing/builders.ts";
import type { GoldenInput } from "./projector-v1-project.ts";
import { goldenInputs } from "./projector-v1-threads.ts";
import { ai, calculator, long, model, named, operation, run, thinkingRun, tight, turns } from "./projector-v1-words.ts";

const sealed = [{ text: "", provider: "openai", model: "gpt-5.2", metadata: { openai: { reasoningEncryptedContent: "A".repeat(900) } } }];
const searched = [
  { type: "provider_call", id: "srvtoolu_01", name: "web_search", arguments: { query: "looms" } },
  { type: "provider_result", id: "srvtoolu_01", name: "web_search", result: [{ url: "https://example.com" }] },
  { type: "text", text: "Found one." },
];
const thought = [{ type: "thinking", text: "Hm." }, { type: "text", text: "Three." }];
const approved = { id: "a", name: "weave", arguments: {}, approval: { id: "a0", approved: true } };

const cut = (seq: number, characters: number) => ({ kind: "note", payload: { opId: "op", cut: { seq, characters } } });

/** One for each rule of heddle/1.1, and more of those that decide on windows. */
const inputs: readonly GoldenInput[] = [
  { name: "1.1: encrypted reasoning that counts", entries: [user("Why?"), ai("assistant", "So.", { thinking: sealed, call: { model: "openai:gpt-5.2" } }), user("Go on")], model: "openai:gpt-5.2", policy: { thinking: "keep", maxInputTokens: 240, reserveOutputTokens: 0 } },
  { name: "1.1: thinking of a running turn under another prompt", entries: thinkingRun(), model, system: "Plan well.", tools: [calculator] },
  { name: "1.1: thinking of a turn that has ended", entries: [...thinkingRun(), assistant("Done."), user("Thanks")], model, system: "Plan well.", tools: [calculator] },
  { name: "1.1: a search of Anthropic, for Anthropic", entries: [user("Find."), ai("assistant", searched), user("Thanks")], model },
  { name: "1.1: a search of Anthropic, for OpenAI", entries: [user("Find."), ai("assistant", searched), user("Thanks")], model: "openai:gpt-5.2" },
  { name: "1.1: thinking in content is that of the call", entries: [user("How many?"), ai("assistant", thought, { call: { model } }), user("Sure?")], model, policy: { thinking: "keep" } },
  { name: "1.1: a window step of eight tenths", entries: turns(60), policy: { ...tight, window: { mode: "stable", step: 0.8 } } },
  { name: "1.1: a window step of one", entries: turns(75), policy: { ...tight, window: { mode: "stable", step: 1 } } },
  { name: "1.1: a step of one inside a request", entries: run(30), policy: { ...tight, window: { mode: "stable", step: 1 } } },
  { name: "1.1: a call that was approved and has not run", entries: [user("Weave."), ai("assistant", "", { toolCalls: [approved] })] },
  { name: "1.1: a lane that branches from another", entries: [...turns(3), operation("b", "op_1", { type: "switch", from: "default", atSeq: 3 }), inLane("b", user(`On ${long(1, 40)}`))] },
  { name: "1.1: people who write in turn", entries: [ai("user", "Weave.", { author: { id: "u1", name: "Ada" } }), assistant("Done."), ai("user", [{ type: "text", text: "Again." }], { author: { id: "u2" } })] },
  { name: "1.1: an answer that was cut to what was spoken", entries: [user("How?"), ai("assistant", [{ type: "thinking", text: "Hm." }, { type: "text", text: "It rains. " }, { type: "text", text: "It snows." }], { call: { model } }), cut(1, 13), user("And?"), assistant("It is dry."), cut(4, 0), cut(4, 5), user("Go on")], model, policy: { thinking: "keep" } },
  { name: "1.1: an answer with calls that was cut", entries: [user("How?"), ai("assistant", "Let me look.", { toolCalls: [{ id: "c", name: "look", arguments: {} }] }), ai("tool", "Rain.", { toolCallId: "c" }), cut(1, 3), user("And?")], model },
  { name: "1.1: a malformed replace changes nothing", entries: [...turns(2), operation("default", "op_1", { type: "replace", baseSeq: 900, reason: "compation", messages: [] }), user("Go on")] },
];

/** What the corpus asks: all that heddle/1 is asked, and what is new. */
export const goldenInputs11: readonly GoldenInput[] = [
  ...goldenInputs,
  ...inputs.map((input) => ({ ...input, entries: named(input.entries) })),
];
