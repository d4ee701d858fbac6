import type { Table } from "../support/table.ts";
import type { Bench } from "./bench.ts";
import { measureAll, rowOf } from "./peers.ts";

/** Every limit over a conversation of parallel calls: how many of the lists a provider would refuse. */
export async function illegal({ sizes, peers }: Bench): Promise<Table[]> {
  const { turns, budgets } = sizes;
  const { variants, unavailable, notes } = await measureAll({ table: "illegal", turns, budgets }, peers);
  return [
    {
      id: "illegal",
      title: `Every limit over ${turns} turns of an ask, 3 parallel calls, their results and an answer`,
      columns: [
        { key: "lists", label: "lists", unit: "count" },
        { key: "illegal", label: "illegal", unit: "count" },
        { key: "torn", label: "torn calls", unit: "count" },
        { key: "noUserFirst", label: "no user first", unit: "count" },
        { key: "empty", label: "empty", unit: "count" },
        { key: "refused", label: "refused", unit: "count" },
        { key: "over", label: "over budget", unit: "count" },
      ],
      rows: [...variants.map((variant) => rowOf(variant, (values) => ({ values: { ...values } }))), ...unavailable],
      notes: [
        `${budgets} budgets up to all of the conversation, or every number of items, each where the model is asked after an ask and after results.`,
        "Illegal: by the rules of OpenAI's chat API or of Anthropic. Torn: a call without its result or the reverse, which no provider accepts. OpenAI does take a list whose first message is not the user's.",
        "Refused: an error instead of a list; with the smallest budgets there is no list that keeps both the ask and the budget.",
        ...notes,
      ],
    },
  ];
}
