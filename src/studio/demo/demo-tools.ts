import { defineTool } from "../../agent/definition/tool.ts";
import type { RuntimePorts } from "../../runtime/ports.ts";

/** Milliseconds that each tool takes, so that the user can see it run. */
const TOOL_MS = 250;

interface DemoTiming {
  readonly after: RuntimePorts["after"];
  readonly isSlow: boolean;
}

/**
 * The demo's tools use no network: arithmetic, three tables, one tool that needs approval, and one that always fails.
 */
export function demoTools({ after, isSlow }: DemoTiming) {
  const work = (): Promise<void> => new Promise((resolve) => (isSlow ? after(TOOL_MS, resolve) : resolve()));
  return {
    calculator: defineTool({
      description: "Evaluates an arithmetic expression of numbers, + - * / % ^ and parentheses.",
      inputSchema: objectOf({ expression: "string" }),
      repeatable: true,
      execute: async ({ expression }) => {
        await work();
        return calculate(String(expression));
      },
    }),
    city: defineTool({
      description: "Country, population and river of a city, from a small fixed table.",
      inputSchema: objectOf({ name: "string" }),
      repeatable: true,
      execute: async ({ name }) => {
        await work();
        return lookUp(CITIES, String(name)) ?? unknown("city", CITIES);
      },
    }),
    weather: defineTool({
      description: "The weather of a city, from a small fixed table.",
      inputSchema: objectOf({ city: "string" }),
      repeatable: true,
      execute: async ({ city }) => {
        await work();
        return lookUp(WEATHER, String(city)) ?? unknown("city", WEATHER);
      },
    }),
    price: defineTool({
      description: "The price of an item in euros, from a small fixed table.",
      inputSchema: objectOf({ item: "string" }),
      repeatable: true,
      execute: async ({ item }) => {
        await work();
        return lookUp(PRICES, String(item)) ?? unknown("item", PRICES);
      },
    }),
    send_money: defineTool({
      description: "Pretends to send money to a person. Nothing is sent. The user has to approve it first.",
      inputSchema: objectOf({ to: "string", euros: "number" }),
      needsApproval: true,
      execute: async ({ to, euros }) => {
        await work();
        return { sent: Number(euros), to: String(to), reference: `demo-${Number(euros)}-${String(to).toLowerCase()}` };
      },
    }),
    moon_sensor: defineTool({
      description: "Reads the temperature on the moon. It is broken, to show what an error looks like.",
      inputSchema: objectOf({ crater: "string" }),
      execute: async () => {
        await work();
        throw new Error("The sensor does not answer: no signal from the moon.");
      },
    }),
  };
}

function objectOf<const Fields extends { readonly [name: string]: "string" | "number" }>(fields: Fields) {
  return {
    type: "object",
    properties: Object.fromEntries(Object.entries(fields).map(([name, type]) => [name, { type }])),
    required: Object.keys(fields),
    additionalProperties: false,
  } as const;
}

function unknown(what: string, table: object): never {
  throw new Error(`There is no such ${what} in the table. It has: ${Object.keys(table).join(", ")}.`);
}

/** Fixed tables for the tools of the demo. */
export const CITIES = {
  Berlin: { country: "Germany", population: 3_700_000, river: "Spree" },
  Cairo: { country: "Egypt", population: 10_200_000, river: "Nile" },
  Lima: { country: "Peru", population: 10_000_000, river: "Rímac" },
  Lisbon: { country: "Portugal", population: 545_000, river: "Tagus" },
  Oslo: { country: "Norway", population: 717_000, river: "Akerselva" },
  Paris: { country: "France", population: 2_100_000, river: "Seine" },
  Tokyo: { country: "Japan", population: 14_000_000, river: "Sumida" },
} as const;

export const WEATHER = {
  Berlin: { sky: "cloudy", celsius: 14 },
  Cairo: { sky: "sunny", celsius: 33 },
  Lima: { sky: "foggy", celsius: 19 },
  Lisbon: { sky: "sunny", celsius: 24 },
  Oslo: { sky: "rainy", celsius: 9 },
  Paris: { sky: "windy", celsius: 17 },
  Tokyo: { sky: "clear", celsius: 22 },
} as const;

/** Prices in euros. */
export const PRICES = { apple: 0.5, book: 18, coffee: 3.2, lamp: 42, shuttle: 7.5, wool: 12 } as const;

/** The row of a name; upper and lower case are the same. */
function lookUp<Table extends object>(table: Table, name: string): Table[keyof Table] | undefined {
  const key = Object.keys(table).find((one) => one.toLowerCase() === name.trim().toLowerCase());
  return key === undefined ? undefined : table[key as keyof Table]; // `key` is one of the table's keys
}

/** Returns the keys of a table that a text mentions, in the order of the text. */
export function namesIn(table: object, text: string): readonly string[] {
  const lower = text.toLowerCase();
  return Object.keys(table)
    .map((name) => ({ name, at: lower.search(new RegExp(`\\b${name.toLowerCase()}s?\\b`)) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at)
    .map(({ name }) => name);
}

/** An error in an expression, with a message for the model. */
class NoNumber extends Error {}

/** Calculates an expression of numbers, + - * / % ^ and parentheses. Nothing is evaluated as code. */
export function calculate(expression: string): number {
  const parser = new Parser(expression.replaceAll("×", "*").replaceAll("÷", "/").replaceAll("−", "-"));
  const value = parser.whole();
  if (!Number.isFinite(value)) throw new NoNumber(`${expression} has no finite value.`);
  return Number(value.toPrecision(12)) + 0; // Rounds, so that 0.1 + 0.2 gives 0.3. Adding 0 turns -0 into 0.
}

const DEEPEST = 64;

class Parser {
  readonly #tokens: readonly string[];
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#tokens = text.match(/\d+(?:\.\d+)?|\.\d+|\S/g) ?? [];
  }

  whole(): number {
    const value = this.#sum();
    if (this.#at < this.#tokens.length) throw this.#unexpected();
    return value;
  }

  #sum(): number {
    let value = this.#product();
    for (let sign = this.#take("+", "-"); sign !== undefined; sign = this.#take("+", "-")) {
      const next = this.#product();
      value = sign === "+" ? value + next : value - next;
    }
    return value;
  }

  #product(): number {
    let value = this.#signed();
    for (let sign = this.#take("*", "/", "%"); sign !== undefined; sign = this.#take("*", "/", "%")) {
      const next = this.#signed();
      if (sign !== "*" && next === 0) throw new NoNumber("Division by zero is not possible.");
      value = sign === "*" ? value * next : sign === "/" ? value / next : value % next;
    }
    return value;
  }

  #signed(): number {
    if (++this.#depth > DEEPEST) throw new NoNumber("The expression is nested too deeply.");
    const sign = this.#take("-", "+");
    const value = sign === undefined ? this.#power() : sign === "-" ? -this.#signed() : this.#signed();
    this.#depth -= 1;
    return value;
  }

  #power(): number {
    const base = this.#atom();
    return this.#take("^") === undefined ? base : base ** this.#signed();
  }

  #atom(): number {
    if (this.#take("(") !== undefined) {
      const value = this.#sum();
      if (this.#take(")") === undefined) throw this.#unexpected();
      return value;
    }
    const token = this.#tokens[this.#at] ?? "";
    if (!/^[\d.]/.test(token) || Number.isNaN(Number(token))) throw this.#unexpected();
    this.#at += 1;
    return Number(token);
  }

  #take(...wanted: readonly string[]): string | undefined {
    const token = this.#tokens[this.#at];
    if (token === undefined || !wanted.includes(token)) return undefined;
    this.#at += 1;
    return token;
  }

  #unexpected(): NoNumber {
    const token = this.#tokens[this.#at];
    return new NoNumber(token === undefined ? "The expression ends too early." : `"${token}" is not expected there.`);
  }
}
