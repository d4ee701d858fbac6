import { HeddleError, type Message } from "heddle";
import { ScriptMismatch, scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { completion, generated, mismatchOf, streamed } from "./support/asking.ts";

const exchange: readonly Message[] = [
  { role: "user", content: "What's 2+2?" },
  { role: "assistant", content: "", toolCalls: [{ id: "c1", name: "add", arguments: { a: 2, b: 2 } }] },
  { role: "tool", toolCallId: "c1", name: "add", content: "5" },
];

describe("a mismatch", () => {
  test("shows the first message that differs, both ways, and is an error of ours", async () => {
    const messages = [
      { text: "What's 2+2?" },
      { calls: [{ name: "add" }] },
      { role: "tool", results: [{ name: "add", value: "4" }] },
    ] as const;
    const model = scriptedModel([{ expect: { messages }, text: "4" }]);
    const error = await mismatchOf(streamed(model, exchange));
    expect(error.message).toBe(
      [
        "Request 1 is not what step 1 of 1 expects; one difference, in messages[2]:",
        '  expected  tool results add = "4"',
        '  actual    tool results add = "5" #c1',
      ].join("\n"),
    );
    expect(ScriptMismatch.isInstance(error) && HeddleError.isInstance(error)).toBe(true);
    expect(error).toMatchObject({ code: "script_mismatch", retryable: false, request: 1, step: 1 });
    expect(error.expected).toBe('messages[2]: tool results add = "4"');
    expect(error.actual).toBe('messages[2]: tool results add = "5" #c1');
  });

  test("shows the nearest step, which has the fewest differences", async () => {
    const model = scriptedModel([
      { expect: { system: "You fly.", lastUser: "Fly!" }, text: "1" },
      { expect: { system: "", lastUser: "What's 2+3?" }, text: "2" },
    ]);
    const { message, step } = await mismatchOf(generated(model, "What's 2+2?"));
    expect(step).toBe(2);
    expect(message).toBe(
      [
        "Request 1 is not what step 1 of 2 expects. Nearest is step 2; one difference, in the last user message:",
        '  expected  "What\'s 2+3?"',
        '  actual    "What\'s 2+2?"',
      ].join("\n"),
    );
  });

  test("says when a later step expects just this", async () => {
    const model = scriptedModel([{ expect: "one", text: "1" }, "anything", { expect: "two", text: "2" }]);
    const { message, step } = await mismatchOf(generated(model, "two"));
    expect(step).toBe(1);
    expect(message).toContain('expected  "one"');
    expect(message).toContain('Step 3 expects just this: when requests come in any order, pass order: "any".');
  });

  test("counts the differences when there are several", async () => {
    const model = scriptedModel([{ expect: { system: "You add.", tools: ["add"], lastUser: "hi" }, text: "1" }]);
    const { message } = await mismatchOf(generated(model, "hi"));
    expect(message).toContain("2 differences, the first in system:");
  });

  test("shows long texts where they part, and never all of them", async () => {
    const long = `${"la ".repeat(500)}do`;
    const model = scriptedModel([{ expect: `${long} re`, text: "1" }]);
    const { message } = await mismatchOf(generated(model, `${long} 🎈${"!".repeat(500)}`));
    const [, expected = "", actual = ""] = message.split("\n");
    expect(expected).toMatch(/^ {2}expected {2}….* do re"$/);
    expect(actual).toMatch(/^ {2}actual {4}….* do 🎈!+…$/);
    expect(message.length).toBeLessThan(500);
  });

  test("uses up no step", async () => {
    const model = scriptedModel([{ expect: "one", text: "1" }]);
    await mismatchOf(generated(model, "two"));
    expect((await generated(model, "one")).content).toEqual([{ type: "text", text: "1" }]);
  });
});

describe("assertComplete", () => {
  test("is content when every step was used", async () => {
    const model = scriptedModel(["1", "2"]);
    await generated(model);
    await streamed(model);
    expect(completion(model)).toBeUndefined();
  });

  test("throws the first mismatch, also when its caller caught it and continued", async () => {
    const model = scriptedModel([{ expect: "one", text: "1" }]);
    const first = await mismatchOf(generated(model, "two"));
    await mismatchOf(generated(model, "three"));
    await generated(model, "one");
    expect(completion(model)).toBe(first);
  });

  test("throws when the model was asked once too often", async () => {
    const model = scriptedModel(["1"]);
    await generated(model);
    const error = await mismatchOf(generated(model, "And 3+3?"));
    expect(error.code).toBe("script_exhausted");
    expect(error.message).toBe(
      'The only step of the script is used, and request 2 came. It ends with user "And 3+3?"\n' +
        "Add a step for it, or find out why the model was asked once more.",
    );
    expect(completion(model)).toBe(error);
  });

  test("throws what a step threw itself, such as an assertion", async () => {
    const assertion = new Error("expected 3 tools");
    const model = scriptedModel([
      () => {
        throw assertion;
      },
    ]);
    await mismatchOf(generated(model));
    expect(completion(model)).toBe(assertion);
  });

  test("throws when steps are left, and names them", async () => {
    const model = scriptedModel(["1", "2", "3"]);
    await generated(model);
    expect(completion(model)).toMatchObject({
      code: "script_incomplete",
      message: expect.stringMatching(/^The model was asked once, and steps 2, 3 of 3 stayed unused\./),
    });
  });
});

describe("in any order", () => {
  test("parallel requests get the step that fits them, the first when several do", async () => {
    const script = [
      { expect: "one", text: "1" },
      { expect: "two", text: "2" },
      "rest",
      { expect: "one", text: "never" },
    ];
    const model = scriptedModel(script, { order: "any" });
    const answers = await Promise.all(["two", "one", "three"].map((said) => generated(model, said)));
    expect(answers.map(({ content }) => content)).toEqual(["2", "1", "rest"].map((text) => [{ type: "text", text }]));
    expect(completion(model)).toMatchObject({ message: expect.stringContaining("step 4 of 4 stayed unused") });
  });

  test("a request that matches none gets the nearest step in the error", async () => {
    const model = scriptedModel(
      [
        { expect: { system: "x", lastUser: "one" }, text: "1" },
        { expect: "two", text: "2" },
      ],
      { order: "any" },
    );
    const { message, step } = await mismatchOf(generated(model, "three"));
    expect(step).toBe(2);
    expect(message).toBe(
      [
        "Request 1 matches none of the 2 unused steps of the script. Nearest is step 2 of 2; one difference, in the last user message:",
        '  expected  "two"',
        '  actual    "three"',
      ].join("\n"),
    );
  });
});

test("requests that come in one turn get their steps in the order in which they came", async () => {
  const model = scriptedModel([async () => "1", "2", "3"]);
  const answers = await Promise.all([generated(model), generated(model), generated(model)]);
  expect(answers.map(({ content }) => content)).toEqual(["1", "2", "3"].map((text) => [{ type: "text", text }]));
});
