import { HeddleError } from "heddle";
import { type ScriptedModelOptions, type ScriptedStep, scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { completion, generated, mismatchOf } from "./support/asking.ts";

describe("a script that cannot be played is refused at once, and the message names the place:", () => {
  const refused: Readonly<Record<string, readonly [unknown, string]>> = {
    "a step that is none": [4, "step 2 must be a text, an object or a function"],
    "a typo in an answer": [{ txt: "4" }, 'step 2 has no field "txt"; it may have thinking, text, calls'],
    "a typo in an expectation": [{ expect: { lastuser: "hi" } }, 'step 2.expect has no field "lastuser"'],
    "a typo in an expected message": [
      { expect: { messages: [{ role: "user" }, { content: "hi" }] } },
      'step 2.expect.messages[1] has no field "content"; it may have role, text',
    ],
    "a typo in an expected call": [
      { expect: { endsWith: [{ calls: [{ args: {} }] }] } },
      'calls[0] has no field "args"',
    ],
    "a typo in a call": [{ calls: [{ name: "add", args: {} }] }, 'step 2.calls[0] has no field "args"'],
    "a call without a name": [{ calls: [{ arguments: {} }] }, "step 2.calls[0] needs the field name"],
    "deltas that are no texts": [{ text: ["a", 4] }, "step 2.text[1] must be a text"],
    "metadata without a provider": [
      { text: "a", metadata: { signature: "s" } },
      "step 2.metadata must be objects by provider",
    ],
    "metadata of nothing": [{ metadata: {} }, "neither thinking nor text"],
    "parts beside a text": [{ parts: [], text: "a" }, "parts, which go without"],
    "a part that is none": [{ parts: [{ type: "text" }] }, "step 2.parts[0] needs the field name"],
    "an error without a status": [{ error: { message: "no" } }, "step 2.error needs the field status"],
    "after without an error": [{ text: "a", after: 1 }, "after, but no error"],
    "after half a delta": [{ error: new Error(), after: 0.5 }, "step 2.after must be a whole number from 0 on"],
    "a wait into the past": [{ text: "a", delayMs: -1 }, "step 2.delayMs must be a number from 0 on"],
    "a usage that is no number": [{ text: "a", usage: { inputTokens: "4" } }, "step 2.usage.inputTokens must be"],
  };
  for (const [name, [step, trouble]] of Object.entries(refused)) {
    test(name, () => {
      const error = thrown(() => scriptedModel(["1", step as ScriptedStep])); // as from JavaScript
      expect(HeddleError.isInstance(error)).toBe(true);
      expect(error).toMatchObject({ code: "script_invalid", message: expect.stringContaining(trouble) });
    });
  }
});

test("an order that is none is refused", () => {
  const options = { order: "some" } as unknown as ScriptedModelOptions; // as from JavaScript
  expect(thrown(() => scriptedModel([], options))).toMatchObject({ code: "script_invalid" });
});

test("an answer that a function makes is checked as well, and assertComplete remembers it", async () => {
  const model = scriptedModel([() => ({ txt: "4" }) as object]);
  const error = await mismatchOf(generated(model));
  expect(error).toMatchObject({
    code: "script_invalid",
    message: expect.stringContaining('the answer of step 1 has no field "txt"'),
  });
  expect(completion(model)).toBe(error);
});

test("a field that is undefined is one that is absent", async () => {
  const step = { text: "4", usage: undefined, expect: { system: undefined } } as object as ScriptedStep; // without exact optional types
  expect((await generated(scriptedModel([step]))).content).toEqual([{ type: "text", text: "4" }]);
});

function thrown(attempt: () => unknown): unknown {
  try {
    return attempt();
  } catch (error) {
    return error;
  }
}
