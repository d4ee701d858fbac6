import { uiMessageChunkSchema as chunkSchema7, type UIMessage } from "ai";
import { uiMessageChunkSchema as chunkSchema6 } from "ai-v6";
import fc from "fast-check";
import { uiMessageStream } from "heddle/ai-sdk";
import type { ScriptedPart, ScriptedStep } from "heddle/testing";
import { expect, test } from "vitest";
import { anything, chat, logged, readBySdk, textOf } from "./chat.ts";

const word = fc.string({ minLength: 1, maxLength: 8, unit: "grapheme" });
const deltas = fc.array(word, { minLength: 1, maxLength: 4 });
const said: fc.Arbitrary<ScriptedPart> = fc.oneof(
  deltas.map((text) => ({ text })),
  deltas.map((thinking) => ({ thinking })),
);
const call: fc.Arbitrary<ScriptedPart> = fc.record({
  name: fc.constantFrom("echo", "fails", "unknown"),
  arguments: fc.dictionary(fc.constantFrom("a", "b"), fc.oneof(word, fc.integer(), fc.constant(null))),
});
const calling = fc.tuple(fc.array(said, { maxLength: 3 }), fc.array(call, { minLength: 1, maxLength: 3 }));
const script: fc.Arbitrary<readonly ScriptedStep[]> = fc
  .tuple(fc.array(calling, { maxLength: 3 }), fc.array(said, { maxLength: 3 }), deltas)
  .map(([loops, last, text]) => [
    ...loops.map(([before, calls]) => ({ parts: [...before, ...calls] })),
    { parts: [...last, { text }] },
  ]);

const tools = {
  echo: { inputSchema: anything, execute: (input: unknown) => input },
  fails: {
    inputSchema: anything,
    execute: () => {
      throw new Error("secret");
    },
  },
};

test("whatever a model says and calls, the stream, the log and the result tell the same", async () => {
  await fc.assert(
    fc.asyncProperty(script, async (steps) => {
      const { server, store } = await chat(steps, { tools });
      const request = await server.ask("Go");
      const { message, errors } = await readBySdk(uiMessageStream(request));
      const { text } = await request.result;
      await server.stop();
      expect(errors).toEqual([]);
      expect(textOf(lastStep(message))).toBe(text);
      expect(message).toEqual(await logged(store));
      expect(JSON.stringify(message)).not.toContain("secret");
    }),
    { numRuns: 60 },
  );
});

test("each version of the AI SDK knows every chunk, whatever a request emits", async () => {
  const schemas = [
    [6, chunkSchema6()],
    [7, chunkSchema7()],
  ] as const;
  await fc.assert(
    fc.asyncProperty(script, async (steps) => {
      const { server } = await chat(steps, { tools });
      const request = await server.ask("Go");
      for (const [client, { validate }] of schemas) {
        for await (const chunk of uiMessageStream(request, { client })) {
          expect(await validate?.(chunk)).toMatchObject({ success: true });
        }
      }
      await server.stop();
    }),
    { numRuns: 20 },
  );
});

function lastStep(message: UIMessage): UIMessage {
  const start = message.parts.findLastIndex(({ type }) => type === "step-start");
  return { ...message, parts: message.parts.slice(start) };
}
