import type { Row, Table } from "../support/table.ts";
import { show } from "../support/units.ts";
import { type Bench, BUDGET } from "./bench.ts";
import type { VariantNumbers } from "./measure.ts";
import type { CacheNumbers } from "./measure-cache.ts";
import { measureAll, rowOf } from "./peers.ts";
import { type Session, sessions } from "./sessions.ts";

const STEP = "heddle, ";

/** The cost of long sessions when the provider caches the prefix that a call shares with the one before. */
export async function cache({ sizes, peers }: Bench): Promise<Table[]> {
  const job = { table: "cache" as const, sessions: sizes.sessions, budget: BUDGET };
  const { variants, unavailable, notes } = await measureAll(job, peers);
  const all = sessions(sizes.sessions);
  return [
    ...all.map((session) => table(session, variants, unavailable)),
    { ...windows(all, variants), notes: [...NOTES, ...notes] },
  ];
}

const NOTES = [
  "A call's messages that equal those the call before began with are read at 0.1; the rest is written at 1.25 of an uncached token.",
  "Prefix share: of each call from the second on; their mean. Cost index: all costs over all tokens sent. Smaller is better only beside the tokens shown.",
  "All lists are counted and compared in one neutral form, with heddle's heuristic. The least length that providers cache is ignored.",
  "Illegal: by the rules of OpenAI's chat API or of Anthropic. Torn: a call without its result or the reverse. Refused: an error instead of a list.",
];

function table(
  { id, title }: Session,
  variants: readonly VariantNumbers<"cache">[],
  unavailable: readonly Row[],
): Table {
  const calls = variants[0]?.numbers?.[id]?.calls;
  return {
    id: `cache-${id}`,
    title: `${title}; ${calls ?? "?"} calls with at most ${show(BUDGET, "count")} tokens each`,
    columns: [
      { key: "prefixShare", label: "prefix share", unit: "share" },
      { key: "costIndex", label: "cost index", unit: "share" },
      { key: "costPerCall", label: "cost of a call", unit: "count" },
      { key: "meanTokens", label: "tokens shown", unit: "count" },
      { key: "maxTokens", label: "at most", unit: "count" },
      { key: "illegal", label: "illegal", unit: "count" },
      { key: "torn", label: "torn calls", unit: "count" },
      { key: "noUserFirst", label: "no user first", unit: "count" },
      { key: "empty", label: "empty", unit: "count" },
      { key: "refused", label: "refused", unit: "count" },
    ],
    rows: [
      ...variants.map((variant) =>
        rowOf(variant, (numbers) => ({ values: { ...numbers[id] }, remark: remarkOf(variant, numbers[id]) })),
      ),
      ...unavailable,
    ],
  };
}

function remarkOf({ fixed }: VariantNumbers<"cache">, numbers: CacheNumbers | undefined): string {
  return [
    ...((numbers?.maxTokens ?? 0) > BUDGET ? ["OVER"] : []),
    ...(fixed ? ["no budget"] : []),
    ...(!fixed && numbers !== undefined && numbers.limit !== BUDGET ? [`n = ${numbers.limit}`] : []),
  ].join(", ");
}

/** heddle's own windows side by side: what `window.step` is chosen from. */
function windows(all: readonly Session[], variants: readonly VariantNumbers<"cache">[]): Table {
  const ours = variants.filter(({ name }) => name.startsWith(STEP));
  const column = (key: keyof CacheNumbers, label: string, unit: "share" | "count") =>
    all.map(({ id }) => ({ key: `${id}_${key}`, label: `${label}: ${id}`, unit }));
  return {
    id: "cache-windows",
    title: "The steps of a stable window, side by side",
    columns: [
      ...column("prefixShare", "prefix", "share"),
      ...column("costIndex", "cost index", "share"),
      ...column("costPerCall", "of a call", "count"),
      ...column("meanTokens", "shown", "count"),
    ],
    rows: ours.map((variant) =>
      rowOf(variant, (numbers) => ({
        values: Object.fromEntries(
          Object.entries(numbers).flatMap(([id, values]) =>
            Object.entries(values).map(([key, value]): [string, number] => [`${id}_${key}`, Number(value)]),
          ),
        ),
      })),
    ),
  };
}
