import { type RuntimePorts, systemRuntimePorts } from "../../runtime/ports.ts";
import { answerOf, contentOf, finishOf } from "../../scripted-model/answer.ts";
import type { V4CallOptions, V4GenerateResult, V4StreamResult } from "../../scripted-model/language-model.ts";
import {
  type RequestMessage,
  type RequestToolResult,
  requestOf,
  type ScriptedRequest,
} from "../../scripted-model/request.ts";
import type { ScriptedAnswer, ScriptedCall } from "../../scripted-model/script.ts";
import { streamOf } from "../../scripted-model/stream.ts";
import { CITIES, namesIn, PRICES, WEATHER } from "./demo-tools.ts";

// The facts of the messages from which the demo derives its answer. Equal messages give an equal answer.

interface Moment {
  readonly text: string;
  readonly thinks: boolean;
  /** The tool results since the last user message, in order. */
  readonly results: readonly RequestToolResult[];
  readonly calls: readonly { readonly name: string; readonly arguments: unknown }[];
  readonly before: readonly RequestMessage[];
}

type Plan = (moment: Moment) => ScriptedAnswer | undefined;

/** The rules of the demo, in order. The first rule that returns an answer wins. */
const PLANS: readonly Plan[] = [moon, money, loop, comparing, weather, prices, cities, story, followUp, sum];

function demoAnswer(request: ScriptedRequest): ScriptedAnswer {
  const moment = momentOf(request);
  const answer = PLANS.map((plan) => plan(moment)).find((found) => found !== undefined) ?? { text: HELP };
  if (moment.thinks && answer.thinking === undefined && moment.results.length === 0)
    return { thinking: thoughtsOn(moment.text, answer), ...answer };
  return answer;
}

const HELP =
  "I am Heddle's offline demo, not a language model. I can do arithmetic (“What is (17 + 25) * 3?”), look up a few " +
  "cities, their weather and some prices, and think aloud when you ask me to. I pretend to send money once you approve, and " +
  "I tell a long story about weaving. With a key for a real model, Studio uses that instead.";

function momentOf({ messages, lastUser }: ScriptedRequest): Moment {
  const last = messages.findLastIndex(({ role }) => role === "user");
  const since = messages.slice(last + 1);
  return {
    text: lastUser,
    thinks: /\bthink|step by step|reason\b/i.test(lastUser),
    results: since.flatMap(({ results = [] }) => results),
    calls: since.flatMap(({ calls = [] }) => calls),
    before: messages.slice(0, last),
  };
}

function moon({ text, results: [result] }: Moment): ScriptedAnswer | undefined {
  if (!/\bmoon\b/i.test(text)) return undefined;
  if (result === undefined)
    return { text: "Let me ask the sensor.", calls: [call("moon_sensor", { crater: "Tycho" })] };
  return { text: `I could not find out: the tool failed and said “${said(result)}” I will not make a number up.` };
}

function money({ text, results: [result] }: Moment): ScriptedAnswer | undefined {
  const wanted = /\b(?:send|pay|give)\D{0,12}(\d+(?:\.\d+)?)\D{0,12}?\bto\s+(\p{L}+)/iu.exec(text);
  if (wanted === null) return undefined;
  const [, euros, to] = wanted;
  if (result === undefined) return { calls: [call("send_money", { to: to ?? "", euros: Number(euros) })] };
  return result.isError
    ? { text: `Nothing was sent to ${to}: ${said(result)}` }
    : { text: `Done: ${euros} euros for ${to}. It was only pretended, but you did approve it.` };
}

/** Adds numbers one call at a time. Needs only the last call, because older calls may be cut from the context. */
function loop({ text, calls, results }: Moment): ScriptedAnswer | undefined {
  const wanted = /\bfrom\s+(\d+)\s+to\s+(\d+)\b.*\b(?:one (?:call )?(?:at a time|by one)|step)/is.exec(text);
  if (wanted === null) return undefined;
  const [from, to] = [Number(wanted[1]), Number(wanted[2])];
  if (to < from || to - from >= 100) return { text: "I would rather add up at most a hundred numbers." };
  const total = Number(results.at(-1)?.value ?? 0);
  const last = /\+ (\d+)$/.exec(
    String((calls.at(-1)?.arguments as { expression?: unknown } | undefined)?.expression ?? ""),
  );
  const next = last === null ? from : Number(last[1]) + 1;
  if (next > to) return { text: `All added up, from ${from} to ${to}: **${total}**.` };
  return { calls: [call("calculator", { expression: `${total} + ${next}` })] };
}

function comparing({ text, results }: Moment): ScriptedAnswer | undefined {
  const items = namesIn(PRICES, text);
  if (items.length < 2 || !/\b(more|cheaper|compare|which)\b/i.test(text)) return undefined;
  if (results.length === 0)
    return { text: "I look both prices up.", calls: items.map((item) => call("price", { item })) };
  if (results.length <= items.length) {
    const calls = items.map((item, index) =>
      call("calculator", { expression: `${countOf(item, text)} * ${numberIn(results[index])}` }),
    );
    return { text: "Now times how many there are.", calls };
  }
  const totals = items.map((item, index) => ({ item, total: numberIn(results[items.length + index]) }));
  const dearest = totals.reduce((best, one) => (one.total > best.total ? one : best));
  const listed = totals.map(({ item, total }) => `${countOf(item, text)} × ${item} cost ${total} euros`).join(", ");
  return { text: `${listed}. So the ${dearest.item}s cost more.` };
}

function weather({ text, results }: Moment): ScriptedAnswer | undefined {
  const names = namesIn(WEATHER, text);
  if (names.length === 0 || !/\b(weather|warm|cold|rain|sun|temperature)/i.test(text)) return undefined;
  if (results.length === 0) return { calls: names.map((city) => call("weather", { city })) };
  const sentences = names.map((name, index) => {
    const { sky, celsius } = fieldsIn(results[index]);
    return `${name} is ${sky ?? "unknown"}, ${celsius ?? "?"} °C`;
  });
  return { text: `${sentences.join("; ")}.${differenceOf(names, results)}` };
}

function differenceOf(names: readonly string[], results: readonly RequestToolResult[]): string {
  const [a, b] = results.map((result) => Number(fieldsIn(result)["celsius"]));
  if (names.length !== 2 || a === undefined || b === undefined || Number.isNaN(a - b)) return "";
  return ` That makes ${names[a > b ? 0 : 1]} ${Math.abs(a - b)} degrees warmer.`;
}

function prices({ text, results }: Moment): ScriptedAnswer | undefined {
  const names = namesIn(PRICES, text);
  if (names.length === 0) return undefined;
  if (results.length === 0) return { calls: names.map((item) => call("price", { item })) };
  return { text: `${names.map((name, index) => `A ${name} costs ${said(results[index])} euros`).join("; ")}.` };
}

function cities({ text, results }: Moment): ScriptedAnswer | undefined {
  const names = namesIn(CITIES, text);
  if (names.length === 0) return undefined;
  if (results.length === 0) return { calls: names.map((name) => call("city", { name })) };
  const sentences = names.map((name, index) => {
    const { country, population, river } = fieldsIn(results[index]);
    return `${name} is in ${country}, on the ${river}, and has ${Number(population).toLocaleString("en-US")} people`;
  });
  return { text: `${sentences.join("; ")}.` };
}

function story({ text, before }: Moment): ScriptedAnswer | undefined {
  if (!/\b(story|chapter|history)\b/i.test(text)) return undefined;
  const chapters = before.flatMap(({ text: line = "" }) =>
    [...line.matchAll(/\bChapter (\d+)/g)].map(([, number]) => Number(number)),
  );
  return { text: chapter(Math.max(0, ...chapters) + 1) };
}

/** "And times 3?", "plus 4", "half of that": calculates with the last number of the conversation. */
function followUp({ text, before, results: [result] }: Moment): ScriptedAnswer | undefined {
  const wanted =
    /^\W*(?:and|now|then|what about)?\W*(times|plus|minus|divided by|half|double)\b\D*(\d+(?:\.\d+)?)?/i.exec(text);
  if (wanted === null) return undefined;
  const known = before.findLast(({ role, text: line = "" }) => role === "assistant" && /\d/.test(line))?.text;
  const last = known
    ?.replaceAll(",", "")
    .match(/-?\d+(?:\.\d+)?/g)
    ?.at(-1);
  if (last === undefined) return { text: "Of what? Give me a sum first." };
  const [, word = "", number = "2"] = wanted;
  const sign =
    { times: "*", plus: "+", minus: "-", "divided by": "/", half: "/", double: "*" }[word.toLowerCase()] ?? "*";
  if (result === undefined) return { calls: [call("calculator", { expression: `${last} ${sign} ${number}` })] };
  return { text: `That makes **${said(result)}**.` };
}

function sum({ text, results: [result] }: Moment): ScriptedAnswer | undefined {
  const found =
    text.match(/[-(]?\s*\(*\s*\d[\d.\s()+\-*/%^×÷−]*/g)?.map((part) => part.trim().replace(/\.$/, "")) ?? [];
  const expression = found.find((part) => /\d\s*\)*\s*[-+*/%^×÷−]/.test(part));
  if (expression === undefined) return undefined;
  if (result === undefined) return { calls: [call("calculator", { expression })] };
  return result.isError
    ? { text: `I could not work that out: ${said(result)}` }
    : { text: `${expression} is **${said(result)}**.` };
}

function thoughtsOn(text: string, { calls = [] }: ScriptedAnswer): string {
  const next = calls.map(({ name, arguments: given }) => `${name}(${JSON.stringify(given)})`).join(" and ");
  const asked = `I am asked: “${text.slice(0, 200)}”. `;
  return next === ""
    ? `${asked}I can say that without looking anything up.`
    : `${asked}I should not guess. First I need ${next}; then I can put the answer together from what comes back.`;
}

function call(name: string, given: NonNullable<ScriptedCall["arguments"]>): ScriptedCall {
  return { name, arguments: given };
}

function said(result: RequestToolResult | undefined): string {
  const { message } = result?.isError === true ? fieldsIn(result) : {};
  const value = message ?? result?.value ?? "nothing";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function numberIn(result: RequestToolResult | undefined): number {
  return Number(result?.value ?? 0);
}

/** The fields of a table row in a tool result, which holds JSON or JSON text. */
function fieldsIn(result: RequestToolResult | undefined): { readonly [name: string]: unknown } {
  const value = result?.value;
  if (typeof value === "object" && value !== null) return value as { readonly [name: string]: unknown };
  try {
    return Object(JSON.parse(String(value)));
  } catch {
    return {};
  }
}

function countOf(item: string, text: string): number {
  return Number(new RegExp(`(\\d+)\\s+${item}`, "i").exec(text)?.[1] ?? 1);
}

/** The chapters of the demo's story. They are long enough that a small context window needs a summary. */
const SCENES = [
  ["the first loom", "two trees, a beam between them, and stones that kept the warp tight"],
  ["the heddle", "a row of loops that lifts every other thread at once, so that the hand need not"],
  ["the shuttle", "a small boat that carries the weft through the shed and back"],
  ["the drawboy", "a child on top of the loom who pulled cords all day to make a pattern"],
  ["the punched card", "a chain of cards that chose the threads to lift, pass after pass"],
  ["the power loom", "a belt from a wheel in the river, and a hall that never fell silent"],
  ["the sampler", "a strip of cloth on which a weaver kept every pattern worth remembering"],
  ["the archive", "a room of bolts, each with a label that says what was woven and when"],
] as const;

const TELLING = [
  (name: string, what: string) => `This chapter is about ${name}: ${what}.`,
  (name: string) => `No one wrote down where ${name} was thought of first, and every valley says that it was theirs.`,
  (_: string, what: string) =>
    `Picture it once more, slowly: ${what}. That is all there is to it, and it changed the day of everyone who had to wear something.`,
  (name: string) =>
    `Before ${name} a weaver counted threads aloud; afterwards the counting was in the tool, and the weaver could think of the pattern instead.`,
  (name: string) =>
    `An old account book lists what ${name} cost: three days of bread, a length of good linen, and a promise to teach the neighbor's daughter.`,
  (_: string, what: string) =>
    `Visitors wrote home about ${what}, and got half of it wrong, and the wrong half is what most people remember.`,
  (name: string) =>
    `What broke most often was not ${name} itself but the knots around it, so a good workshop was known by its knots.`,
  (name: string) =>
    `In winter the light was short and the work went on by ear: a weaver who knows the sound of ${name} hears at once that a thread is missing.`,
  (name: string) =>
    `And when the cloth was cut down, nothing of ${name} was to be seen in it, which is the point of a tool.`,
] as const;

/** Returns the chapter with this number, from 1. After the last chapter, the first one follows again. */
function chapter(number: number): string {
  const [name, what] = SCENES[(number - 1) % SCENES.length] ?? SCENES[0];
  const sentences = TELLING.map((sentence) => sentence(name, what));
  const again = TELLING.slice(1, 7).map(
    (sentence) => `They say it in the next village too: ${sentence(`the cousin of ${name}`, what)}`,
  );
  return `**Chapter ${number}: ${name}**\n\n${sentences.join(" ")}\n\n${again.join(" ")}`;
}

export const DEMO = { provider: "heddle-demo", modelId: "offline-demo" } as const;

/** Answers with more words are sent faster, so that they take no longer than this many words. */
const MOST_WORDS = 100;

/** The speed of the demo model, and its timers. */
export interface DemoOptions {
  /** Milliseconds between two words of an answer of up to a hundred words. Default 24; with 0 the answer comes at once. */
  readonly wordMs?: number | undefined;
  /** Only `after` is used, for the pauses between words. Default `systemRuntimePorts`. */
  readonly ports?: Partial<RuntimePorts> | undefined;
}

/**
 * A model that works offline: a few rules derive the answer from the messages. If the user asks, it says that it is a
 * demo.
 * @example
 * const agent = defineAgent({ model: demoModel({ wordMs: 0 }) });
 * const server = await AgentServer.start({ agent, store: memoryStore() });
 * const { text } = await (await server.ask("Who are you?")).result;
 * console.log(text.startsWith("I am Heddle's offline demo")); // true
 * await server.stop();
 */
export function demoModel({ wordMs = 24, ports }: DemoOptions = {}) {
  const after = ports?.after ?? systemRuntimePorts.after;
  const ask = (given: V4CallOptions, streaming: boolean) => {
    given.abortSignal?.throwIfAborted();
    const request = requestOf(given, 1, streaming);
    const usage = { inputTokens: tokensOf(given) };
    return answerOf(paced({ ...demoAnswer(request), usage }, wordMs), request, callIds(request));
  };
  const response = { id: "demo", modelId: DEMO.modelId };
  return {
    specificationVersion: "v4" as const,
    ...DEMO,
    supportedUrls: {} as Record<string, RegExp[]>,
    doGenerate: async (given: V4CallOptions): Promise<V4GenerateResult> => {
      const answer = ask(given, false);
      const { usage, finishReason } = answer;
      return { content: contentOf(answer), finishReason: finishOf(finishReason), usage, response, warnings: [] };
    },
    doStream: async (given: V4CallOptions): Promise<V4StreamResult> => {
      return { stream: streamOf(ask(given, true), response, after, given.abortSignal) };
    },
  };
}

/** Simulates the token usage: one token for four characters of prompt and tools. */
function tokensOf({ prompt, tools = [] }: V4CallOptions): number {
  return Math.ceil(JSON.stringify([prompt, tools]).length / 4);
}

/** Sends the answer word by word, as a model does. A long answer is sent faster. */
function paced(answer: ScriptedAnswer, wordMs: number): ScriptedAnswer {
  const [text, thinking] = [answer.text, answer.thinking].map((said) =>
    typeof said === "string" ? wordsOf(said) : said,
  );
  const words = (text?.length ?? 0) + (thinking?.length ?? 0);
  return {
    ...answer,
    delayMs: wordMs * 8,
    deltaDelayMs: words <= MOST_WORDS ? wordMs : (wordMs * MOST_WORDS) / words,
    ...(text !== undefined && { text }),
    ...(thinking !== undefined && { thinking }),
  };
}

function wordsOf(text: string): readonly string[] {
  return text.match(/\s*\S+\s*$|\s*\S+/g) ?? [text];
}

/**
 * Returns a function that makes call ids with increasing numbers. A number is not reused, even after older calls are
 * cut.
 */
function callIds({ messages }: ScriptedRequest): () => string {
  const numbers = messages.flatMap(({ calls = [] }) => calls.map(({ id }) => Number(/(\d+)$/.exec(id)?.[1] ?? 0)));
  let last = Math.max(0, ...numbers);
  return () => `call_${++last}`;
}
