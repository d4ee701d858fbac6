import fc from "fast-check";
import type { Content, JsonObject, Message, Part, ToolCall } from "heddle";
import type { AssistantMessage, PartMetadata } from "heddle/core";
import { hinted, pixel, redacted, sealed, signed, webImage } from "./messages.ts";

// Lists that are legal by the common denominator: system messages, then the user; calls with all results right behind
// them, in order; nothing blank; the user or a tool at the end.

const text = fc.string({ minLength: 1, maxLength: 12 }).map((text) => `a${text}z`);
const name = fc.constantFrom("weather", "search", "get_time-2");
const metadata = fc.constantFrom<PartMetadata>(signed, redacted, sealed, hinted, {});

const textPart = fc.record({ type: fc.constant("text" as const), text });
const thinkingPart = fc.record({
  type: fc.constant("thinking" as const),
  text: fc.option(text, { nil: "" }),
  metadata,
});
/** Gemini signs an empty text when a stream ends. */
const signedBlank = fc.constant({ type: "text" as const, text: "", metadata: hinted });
const filePart = fc.constantFrom(pixel, webImage);
const userContent: fc.Arbitrary<Content> = fc.oneof(text, fc.array(fc.oneof(textPart, filePart), { minLength: 1 }));
const resultContent: fc.Arbitrary<Content> = fc.oneof(
  fc.string(),
  fc.array(fc.oneof(textPart, fc.constant(pixel)), { maxLength: 3 }),
);

const args: fc.Arbitrary<JsonObject> = fc.dictionary(
  fc.stringMatching(/^[a-z]{1,6}$/),
  fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null), fc.array(fc.integer(), { maxLength: 3 })),
  { maxKeys: 3 },
);

interface PlannedCall {
  readonly name: string;
  readonly args: JsonObject;
  readonly result: Content;
  readonly isError: boolean;
  readonly metadata: PartMetadata;
  /** Text after it, or none. */
  readonly after: string | undefined;
}

const plannedCall: fc.Arbitrary<PlannedCall> = fc
  .record({
    name,
    args,
    result: resultContent,
    isError: fc.boolean(),
    metadata: fc.constantFrom(hinted, {}),
    after: fc.option(text, { nil: undefined }),
  })
  // Anthropic refuses images in the result of a call that failed.
  .map((call) => (call.isError && typeof call.result !== "string" ? { ...call, result: "it failed" } : call));

const step = fc.record({
  before: fc.array(fc.oneof(textPart, thinkingPart, signedBlank), { maxLength: 3 }),
  calls: fc.array(plannedCall, { minLength: 1, maxLength: 4 }),
});

const answer: fc.Arbitrary<Content> = fc.oneof(
  text,
  fc.tuple(fc.array(thinkingPart, { maxLength: 2 }), textPart).map(([thinking, text]) => [...thinking, text]),
);

const turn = fc.record({
  asks: fc.array(userContent, { minLength: 1, maxLength: 2 }),
  steps: fc.array(step, { maxLength: 3 }),
  answer: fc.option(answer, { nil: undefined }),
});

/** Any legal list. */
export const legalList: fc.Arbitrary<readonly Message[]> = fc
  .record({
    system: fc.array(text, { maxLength: 2 }),
    turns: fc.array(turn, { minLength: 1, maxLength: 3 }),
    last: userContent,
  })
  .map(({ system, turns, last }) => {
    const messages: Message[] = system.map((content) => ({ role: "system", content }));
    let ids = 0;
    for (const { asks, steps, answer } of turns) {
      for (const content of asks) messages.push({ role: "user", content });
      for (const { before, calls } of steps) {
        const planned = calls.map((call) => ({ ...call, id: `call_${ids++}` }));
        messages.push(assistantOf(before, planned));
        for (const { id, name, result, isError } of planned) {
          messages.push({ role: "tool", toolCallId: id, name, content: result, ...(isError ? { isError } : {}) });
        }
      }
      if (answer !== undefined) messages.push({ role: "assistant", content: answer });
    }
    if (messages.at(-1)?.role === "assistant") messages.push({ role: "user", content: last });
    return messages;
  });

function assistantOf(before: readonly Part[], planned: readonly (PlannedCall & { id: string })[]): AssistantMessage {
  const toolCalls = planned.map(({ id, name, args, metadata }): ToolCall => ({ id, name, arguments: args, metadata }));
  const places = planned.flatMap(({ id, after }): readonly Part[] => [
    { type: "tool_call", id },
    ...(after === undefined ? [] : [{ type: "text", text: after } as const]),
  ]);
  return { role: "assistant", content: [...before, ...places], toolCalls };
}
