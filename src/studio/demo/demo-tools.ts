import { tool } from "../../agent/definition/tool.ts";
import type { RuntimePorts } from "../../runtime/ports.ts";
import { calculate } from "./calculate.ts";
import { CITIES, lookUp, PRICES, WEATHER } from "./tables.ts";

/** How long a tool takes, so that the user can see it run. */
const TOOL_MS = 250;

interface Given {
  readonly after: RuntimePorts["after"];
  readonly isSlow: boolean;
}

/** Tools that reach nothing outside: arithmetic, three tables, one that needs approval, one that always fails. */
export function demoTools({ after, isSlow }: Given) {
  const work = (): Promise<void> => new Promise((resolve) => (isSlow ? after(TOOL_MS, resolve) : resolve()));
  return {
    calculator: tool({
      description: "Evaluates an arithmetic expression of numbers, + - * / % ^ and parentheses.",
      inputSchema: objectOf({ expression: "string" }),
      repeatable: true,
      execute: async ({ expression }) => {
        await work();
        return calculate(String(expression));
      },
    }),
    city: tool({
      description: "Country, population and river of a city, from a small fixed table.",
      inputSchema: objectOf({ name: "string" }),
      repeatable: true,
      execute: async ({ name }) => {
        await work();
        return lookUp(CITIES, String(name)) ?? unknown("city", CITIES);
      },
    }),
    weather: tool({
      description: "The weather of a city, from a small fixed table.",
      inputSchema: objectOf({ city: "string" }),
      repeatable: true,
      execute: async ({ city }) => {
        await work();
        return lookUp(WEATHER, String(city)) ?? unknown("city", WEATHER);
      },
    }),
    price: tool({
      description: "The price of an item in euros, from a small fixed table.",
      inputSchema: objectOf({ item: "string" }),
      repeatable: true,
      execute: async ({ item }) => {
        await work();
        return lookUp(PRICES, String(item)) ?? unknown("item", PRICES);
      },
    }),
    send_money: tool({
      description: "Pretends to send money to a person. Nothing is sent. The user has to approve it first.",
      inputSchema: objectOf({ to: "string", euros: "number" }),
      needsApproval: true,
      execute: async ({ to, euros }) => {
        await work();
        return { sent: Number(euros), to: String(to), reference: `demo-${Number(euros)}-${String(to).toLowerCase()}` };
      },
    }),
    moon_sensor: tool({
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
