import fc from "fast-check";
import { project, type Thread } from "heddle";
import { validateMessages } from "heddle/providers";
import { expect, test } from "vitest";
import { choices, play } from "../agent/support/play.ts";

const PROVIDERS = ["openai-chat", "openai-responses", "anthropic", "gemini"] as const;

test("whatever an agent goes through, every beginning of its log is shown as a list that all providers take", () => {
  fc.assert(
    fc.property(choices, (given) => {
      const { thread } = play(given).agent;
      for (let seq = -1; seq <= thread.lastSeq; seq++) expectLegal(thread.upTo(seq));
    }),
    { numRuns: 60 },
  );
});

test("what a model is sent is a list that all providers take, and it is the model's turn", () => {
  fc.assert(
    fc.property(choices, (given) => {
      for (const { directives } of play(given).moves) {
        for (const directive of directives) {
          if (directive.type !== "llm_stream") continue;
          for (const provider of PROVIDERS) expect(validateMessages(directive.messages, provider)).toEqual([]);
        }
      }
    }),
    { numRuns: 150 },
  );
});

function expectLegal(thread: Thread): void {
  const { messages, meta } = project({ thread });
  // Nothing to show is no request; an answer at the end is the log's last word.
  const allowed = messages.length === 0 ? ["empty_list"] : meta.open ? [] : ["trailing_assistant"];
  for (const provider of PROVIDERS) {
    const broken = validateMessages(messages, provider).filter(({ rule }) => !allowed.includes(rule));
    expect(broken, `${provider} at ${thread.lastSeq}`).toEqual([]);
  }
}
