import { Script } from "node:vm";
import fc from "fast-check";
import { AgentServer, memoryStore } from "heddle";
import { demoAgent } from "heddle/studio";
import { expect, onTestFinished, test } from "vitest";
import { DEMO_PROMPTS } from "../../src/studio/demo/demo-agent.ts";
import { calculate } from "../../src/studio/demo/demo-tools.ts";

async function demo() {
  const store = memoryStore();
  const server = await AgentServer.start({ agent: demoAgent({ wordMs: 0 }), store });
  onTestFinished(() => server.stop());
  const ask = async (content: string) => (await (await server.ask(content)).result).text;
  return { server, store, ask, entries: async () => (await store.load(server.threadId))?.toArray() ?? [] };
}

test("the calculator gives what arithmetic gives", () => {
  const number = fc.integer({ min: 0, max: 999 }).map(String);
  const { expression } = fc.letrec<{ expression: string }>((tie) => ({
    expression: fc.oneof(
      { maxDepth: 4 },
      number,
      fc
        .tuple(tie("expression"), fc.constantFrom("+", "-", "*"), tie("expression"))
        .map(([a, sign, b]) => `(${a} ${sign} ${b})`),
      tie("expression").map((inner) => `-(${inner})`),
    ),
  }));
  fc.assert(
    fc.property(expression, (text) => {
      const oracle: number = new Script(text).runInNewContext(); // JavaScript's own arithmetic
      expect(calculate(text)).toBe(Number(oracle.toPrecision(12)) + 0);
    }),
  );
});

test("precedence, powers, signs and the signs people write", () => {
  expect(calculate("2 + 3 * 4")).toBe(14);
  expect(calculate("2 ^ 3 ^ 2")).toBe(512);
  expect(calculate("-2 ^ 2")).toBe(-4);
  expect(calculate("7 % 4 - .5")).toBe(2.5);
  expect(calculate("6 × 7 ÷ 2")).toBe(21);
  expect(calculate("0.1 + 0.2")).toBe(0.3);
});

test("what is no arithmetic is refused, in words, and nothing is run", () => {
  for (const text of [
    "",
    "1 +",
    "(1",
    "1 2",
    "process.exit()",
    "1; 2",
    "constructor",
    "1 / 0",
    "9 ^ 9999",
    `${"(".repeat(500)}1`,
  ]) {
    expect(() => calculate(text)).toThrow(/\w+/);
  }
});

test.each([
  ["What is (17 + 25) * 3?", "(17 + 25) * 3 is **126**."],
  ["What does 7 / 2 make?", "7 / 2 is **3.5**."],
  ["What is 1 / 0?", "I could not work that out: Division by zero is not possible."],
  ["How is the weather in Oslo?", "Oslo is rainy, 9 °C."],
  ["What does a lamp cost?", "A lamp costs 42 euros."],
  ["Tell me about Lima.", "Lima is in Peru, on the Rímac, and has 10,000,000 people."],
  [
    "Compare the weather in Oslo and Cairo.",
    "Oslo is rainy, 9 °C; Cairo is sunny, 33 °C. That makes Cairo 24 degrees warmer.",
  ],
])("asked %j the demo says so", async (question, answer) => {
  const { ask } = await demo();
  expect(await ask(question)).toBe(answer);
});

test("it says that it is a demo when it has nothing better to say", async () => {
  const { ask } = await demo();
  expect(await ask("Who are you?")).toMatch(/^I am Heddle's offline demo, not a language model/);
});

test("two things are looked up in one exchange, and the second answer knows the first", async () => {
  const { ask, entries } = await demo();
  await ask("Compare the weather in Oslo and Cairo.");
  const calls = (await entries()).flatMap(({ payload }) => payload["toolCalls"] ?? []);
  expect(calls).toMatchObject([
    { name: "weather", arguments: { city: "Oslo" } },
    { name: "weather", arguments: { city: "Cairo" } },
  ]);
  expect(await ask("What is 12 * 12?")).toContain("144");
  expect(await ask("And times 3?")).toBe("That makes **432**.");
});

test("it thinks aloud when it is asked to, and not otherwise", async () => {
  const { ask, entries } = await demo();
  const thinking = async () => JSON.stringify(await entries()).includes('"type":"thinking"');
  await ask("What is 1 + 1?");
  expect(await thinking()).toBe(false);
  expect(await ask("Think step by step: which costs more, 3 lamps or 11 books?")).toMatch(/So the books cost more\.$/);
  expect(await thinking()).toBe(true);
});

test("thirty calls are thirty calls, also where the window does not show all of them", async () => {
  const { ask, entries } = await demo();
  expect(await ask("Add up the numbers from 1 to 30, one call at a time.")).toContain("**465**");
  expect((await entries()).filter(({ payload }) => payload["role"] === "tool").length).toBe(30);
  expect(await ask("Add up the numbers from 1 to 99, one call at a time.")).toContain("**4950**");
});

test("a tool that fails is not made up for", async () => {
  const { ask } = await demo();
  expect(await ask("How warm is it on the moon?")).toMatch(/the tool failed .* I will not make a number up\.$/);
});

test("the same conversation twice says the same twice", async () => {
  const said = async () => {
    const { ask, entries } = await demo();
    for (const { text } of DEMO_PROMPTS.filter(({ title }) => title !== "An approval")) await ask(text);
    return (await entries()).map(({ payload: { content, toolCalls } }) => ({ content, toolCalls }));
  };
  expect(await said()).toEqual(await said());
});

test("words come one after the other, and an abort ends them", async () => {
  const waits: number[] = [];
  const after = (ms: number, run: () => void) => {
    waits.push(ms);
    queueMicrotask(run);
    return () => undefined;
  };
  const agent = demoAgent({ wordMs: 24, ports: { after } });
  const server = await AgentServer.start({ agent, store: memoryStore() });
  onTestFinished(() => server.stop());
  const request = await server.ask("Who are you?");
  const words: string[] = [];
  for await (const word of request.textStream) words.push(word);
  expect(words.length).toBeGreaterThan(20);
  expect(waits.filter((ms) => ms === 24).length).toBe(words.length - 1);
});
