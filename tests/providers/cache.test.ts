import type { Message } from "heddle";
import { type CacheOption, toAISDKPrompt, toAnthropic } from "heddle/providers";
import { expect, test } from "vitest";
import { assistant, call, result, signed, system, thought, user } from "./support/messages.ts";

const tools = [{ name: "weather", inputSchema: {} }];

/** A loop of one call at a time: the ask, then two blocks for each step. */
function loop(steps: number): readonly Message[] {
  const exchanges = Array.from({ length: steps }, (_, i) => [assistant("", call(`c${i}`)), result(`c${i}`)]);
  return [user("Weather?"), ...exchanges.flat()];
}

/** The indices of the marked blocks among all blocks of the messages. */
function marked(messages: readonly Message[], cache: CacheOption): readonly number[] {
  const blocks = toAnthropic(messages, tools, { cache }).messages.flatMap(({ content }) => content);
  return blocks.flatMap((block, index) => ("cache_control" in block ? [index] : []));
}

test("the newest block is marked, and every 15th before it, three in all", () => {
  expect(marked(loop(30), true)).toEqual([30, 45, 60]);
  expect(marked(loop(8), true)).toEqual([1, 16]);
  expect(marked(loop(0), true)).toEqual([0]);
});

test("the end of what did not change takes one of the three", () => {
  expect(marked(loop(30), { stablePrefix: 4 })).toEqual([3, 45, 60]);
  expect(marked(loop(0), { stablePrefix: 0 })).toEqual([0]);
});

test("system ends what is cached of tools and system; without it the last tool does", () => {
  const withSystem = toAnthropic([system("a"), system("b"), user("Hi")], tools, { cache: true });
  expect(withSystem.system?.map((block) => "cache_control" in block)).toEqual([true, true]);
  expect(withSystem.tools?.map((tool) => "cache_control" in tool)).toEqual([false]);
  const without = toAnthropic([user("Hi")], tools, { cache: true });
  expect(without.tools?.map((tool) => "cache_control" in tool)).toEqual([true]);
});

test("a new summary, the last block of system, leaves the blocks before it in the cache", () => {
  const before = [system("Rules"), system("Tone")];
  const [first, second] = ["one", "two"].map((summary) =>
    toAnthropic([...before, system(summary), ...loop(30)], tools, { cache: true }),
  );
  expect(first?.system?.map((block) => "cache_control" in block)).toEqual([false, true, true]);
  expect(second?.system?.slice(0, 2)).toEqual(first?.system?.slice(0, 2));
  const body = JSON.stringify(first);
  expect(body.split("cache_control").length - 1).toBe(4); // Anthropic refuses more
  const prompt = toAISDKPrompt([...before, system("one"), ...loop(30)], { cache: true });
  expect(JSON.stringify(prompt).split("cacheControl").length - 1).toBe(4);
  expect(prompt.slice(0, 3).map((message) => "providerOptions" in message)).toEqual([false, true, true]);
});

test("thinking is never marked; the block before it is", () => {
  const open = [user("Hi"), assistant([{ type: "text", text: "Hm" }, thought("…", signed)])];
  expect(marked(open, true)).toEqual([1]);
});

test("an AI SDK prompt is marked at the same places, also among the results of one step", () => {
  const list = [user("Hi"), assistant("", call("a"), call("b")), result("a"), result("b"), ...loop(10)];
  const parts = toAISDKPrompt(list, { cache: { stablePrefix: 3 } }).flatMap(({ content }) => [...content]);
  const indices = parts.flatMap((part, index) => (typeof part === "object" && part.providerOptions ? [index] : []));
  expect(indices).toEqual(marked(list, { stablePrefix: 3 }));
  expect(indices).toEqual([3, 10, 25]);
});

test("without the option nothing is marked", () => {
  expect(JSON.stringify(toAnthropic(loop(30), tools))).not.toContain("cache_control");
  expect(JSON.stringify(toAISDKPrompt(loop(30)))).not.toContain("cacheControl");
});
