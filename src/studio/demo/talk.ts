import type { AskedMessage, AskedResult, ScriptedRequest } from "../../testing/scripted-model/request.ts";
import type { ScriptedAnswer, ScriptedCall } from "../../testing/scripted-model/script.ts";
import { chapter } from "./chapters.ts";
import { CITIES, namesIn, PRICES, WEATHER } from "./tables.ts";

// The answer of the demo depends only on the messages it gets: the same messages give the same answer.

interface Moment {
  readonly text: string;
  readonly thinks: boolean;
  /** The results of the calls since the last message of the user, in order. */
  readonly results: readonly AskedResult[];
  readonly calls: readonly { readonly name: string; readonly arguments: unknown }[];
  readonly before: readonly AskedMessage[];
}

type Plan = (moment: Moment) => ScriptedAnswer | undefined;

/** The rules, in order. The first one that returns an answer wins. */
const PLANS: readonly Plan[] = [moon, money, loop, comparing, weather, prices, cities, story, followUp, sum];

export function demoAnswer(request: ScriptedRequest): ScriptedAnswer {
  const moment = momentOf(request);
  const answer = PLANS.map((plan) => plan(moment)).find((found) => found !== undefined) ?? { text: HELP };
  if (moment.thinks && answer.thinking === undefined && moment.results.length === 0)
    return { thinking: thoughtsOn(moment.text, answer), ...answer };
  return answer;
}

const HELP =
  "I am Heddle's offline demo, not a language model. I can do arithmetic (“What is (17 + 25) * 3?”), look up a few " +
  "cities, their weather and some prices, think aloud when you ask me to, pretend to send money once you approve, and tell " +
  "a long story about weaving. With a key for a real model, Studio uses that instead.";

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

/** Continues from the last call alone, so that older calls may have left the window. */
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
  const told = names.map((name, index) => {
    const { sky, celsius } = fieldsIn(results[index]);
    return `${name} is ${sky ?? "unknown"}, ${celsius ?? "?"} °C`;
  });
  return { text: `${told.join("; ")}.${differenceOf(names, results)}` };
}

function differenceOf(names: readonly string[], results: readonly AskedResult[]): string {
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
  const told = names.map((name, index) => {
    const { country, population, river } = fieldsIn(results[index]);
    return `${name} is in ${country}, on the ${river}, and has ${Number(population).toLocaleString("en-US")} people`;
  });
  return { text: `${told.join("; ")}.` };
}

function story({ text, before }: Moment): ScriptedAnswer | undefined {
  if (!/\b(story|chapter|history)\b/i.test(text)) return undefined;
  const told = before.flatMap(({ text: line = "" }) =>
    [...line.matchAll(/\bChapter (\d+)/g)].map(([, number]) => Number(number)),
  );
  return { text: chapter(Math.max(0, ...told) + 1) };
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

function said(result: AskedResult | undefined): string {
  const { message } = result?.isError === true ? fieldsIn(result) : {};
  const value = message ?? result?.value ?? "nothing";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function numberIn(result: AskedResult | undefined): number {
  return Number(result?.value ?? 0);
}

/** The fields of a table row, which arrives as JSON or as text of JSON. */
function fieldsIn(result: AskedResult | undefined): { readonly [name: string]: unknown } {
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
