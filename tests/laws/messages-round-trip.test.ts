import fc from "fast-check";
import { type JsonValue, type Message, project, Thread } from "heddle";
import type { MessageFormat } from "heddle/core";
import { toAnthropic, toModelMessages, toOpenAIChat, validateMessages } from "heddle/providers";
import { describe, expect, test } from "vitest";
import { legalList } from "../providers/support/legal.ts";
import { LISTS } from "../thread/messages/lists.ts";

const RUNS = { numRuns: 300 };

describe.each(Object.entries(LISTS) as [MessageFormat, fc.Arbitrary<readonly object[]>][])("%s", (format, lists) => {
  test("a list that is taken in and given back is the list", () => {
    fc.assert(
      fc.property(lists, (list) => {
        const thread = Thread.fromMessages(list, { format });
        expect(thread.toMessages({ format })).toEqual(list);
        const stored = Thread.fromJSON(JSON.parse(JSON.stringify(thread)));
        expect(stored.toMessages()).toEqual(stored.entryCount === 0 ? [] : list);
      }),
      RUNS,
    );
  });

  test("a thread made of a list, as neutral messages and back, shows the same", () => {
    fc.assert(
      fc.property(lists, (list) => {
        const thread = Thread.fromMessages(list, { format });
        const again = Thread.fromMessages(thread.toMessages({ format: "neutral" }), { format: "neutral" });
        expect(withoutIds(shown(again))).toEqual(withoutIds(shown(thread)));
      }),
      RUNS,
    );
  });

  test("what is shown of it is legal for every provider", () => {
    fc.assert(
      fc.property(lists, (list) => {
        for (const [api, model] of ASKED) {
          const messages = shown(Thread.fromMessages(list, { format }), model);
          const broken = validateMessages(messages, api).map(({ rule }) => rule);
          expect(broken.filter((rule) => !ALLOWED.has(rule))).toEqual([]);
        }
      }),
      RUNS,
    );
  });
});

test("what is shown of a legal list is, in its format, the list", () => {
  fc.assert(
    fc.property(legalList, (messages) => {
      const spoken = messages.filter(({ role }) => role !== "system");
      const chat = toOpenAIChat(spoken).messages;
      expect(toOpenAIChat(shown(Thread.fromMessages(chat, { format: "openai-chat" }))).messages).toEqual(chat);
      const claude = toAnthropic(spoken).messages;
      expect(toAnthropic(shown(Thread.fromMessages(claude, { format: "anthropic" }))).messages).toEqual(claude);
      const model = toModelMessages(spoken);
      expect(toModelMessages(shown(Thread.fromMessages(model, { format: "model-messages" })))).toEqual(model);
      expect(shown(Thread.fromMessages(spoken, { format: "neutral" }))).toEqual(spoken);
    }),
    RUNS,
  );
});

/** The name of a model does not tell which API of OpenAI is asked: without one, nothing stays that only one of them reads. */
const ASKED = [
  ["openai-chat", undefined],
  ["openai-responses", "openai:gpt-5.2"],
  ["anthropic", "anthropic:claude-sonnet-5"],
  ["gemini", "google:gemini-3-pro-preview"],
] as const;

/** A list may end with an answer, say nothing at all, or hold a file that only its store has. */
const ALLOWED: ReadonlySet<string> = new Set(["trailing_assistant", "empty_list", "unresolved_file"]);

/** An id that is there twice is shown as another, which depends on its place in the log. */
function withoutIds(messages: readonly Message[]): JsonValue {
  return JSON.parse(JSON.stringify(messages).replaceAll(/"call_[\w-]{22}"/g, '"call"'));
}

function shown(thread: Thread, model?: string) {
  const policy = { maxInputTokens: 10_000_000, thinking: "keep" } as const;
  return thread.entryCount === 0 ? [] : project({ thread, policy, model }).messages;
}
