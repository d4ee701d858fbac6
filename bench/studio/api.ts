import type { ThreadStore } from "heddle";
import { studioHandler } from "heddle/studio";
import { median, percentile } from "../support/statistics.ts";
import type { Row, Table } from "../support/table.ts";
import { show, showSize } from "../support/units.ts";
import type { Bench } from "./bench.ts";
import { LONG } from "./stores.ts";

/** The query for the next page; undefined after the last. */
type Next = (answer: Answer) => string | undefined;

interface Answer {
  readonly cursor?: string;
  readonly searchedTo?: number;
  readonly entries?: readonly unknown[];
  readonly searched?: { readonly from: number };
}

interface Question {
  readonly name: string;
  readonly of: "long" | "many";
  readonly path: string;
  readonly next?: Next;
}

const byCursor: Next = ({ cursor }) => (cursor === undefined ? undefined : `&cursor=${encodeURIComponent(cursor)}`);
const bySearchedTo: Next = ({ searchedTo }) => (searchedTo === undefined ? undefined : `&before=${searchedTo}`);
const bySearched: Next = ({ searched, entries = [] }) =>
  searched === undefined || searched.from === 0 || entries.length > 0 ? undefined : `&to=${searched.from - 1}`;

/** Lists and searches over many threads, and over a long one, to the last page. */
export async function api({ sizes, budgets, long, many }: Bench): Promise<Table> {
  const { rounds, long: length, threads } = sizes;
  const thread = `/threads/${LONG}`;
  const questions: readonly Question[] = [
    { name: "threads, first page", of: "many", path: "/threads?limit=100" },
    { name: "threads of a status", of: "many", path: "/threads?limit=100&status=failed" },
    { name: "threads of an agent", of: "many", path: "/threads?limit=100&agent=spinner" },
    { name: "search, much found", of: "many", path: "/threads?limit=100&search=shuttle" },
    { name: "search, nothing found", of: "many", path: "/threads?search=nowhere", next: byCursor },
    { name: "search in the long thread", of: "long", path: "/threads?search=nowhere", next: byCursor },
    { name: "calls, none there", of: "long", path: `${thread}/calls?limit=60`, next: bySearchedTo },
    { name: "entries that are errors, none", of: "long", path: `${thread}/entries?kinds=errors`, next: bySearched },
    { name: "entries, a window", of: "long", path: `${thread}/entries?around=${length >> 1}` },
    { name: "tail to project from", of: "long", path: `${thread}/tail?atSeq=${length >> 1}` },
  ];
  const rows: Row[] = [];
  for (const question of questions) rows.push(await measured(question, { long, many }, rounds));
  const worst = Math.max(...rows.map(({ values }) => values["worst"] ?? Number.NaN));
  return {
    id: "api",
    title: `The HTTP API: a thread of ${showSize(length)} entries, ${showSize(threads)} threads, ${rounds} rounds, in one process`,
    columns: [
      { key: "p50", label: "one answer", unit: "time" },
      { key: "worst", label: "worst", unit: "time" },
      { key: "answers", label: "answers", unit: "count" },
      { key: "all", label: "to the end", unit: "time" },
    ],
    rows,
    checks: [budgets.atMost("answerMilliseconds", worst, { what: "the longest answer of any question", unit: "ms" })],
    notes: [`A search of everything answers after ${show(250, "ms")} with its results so far, and with a cursor.`],
  };
}

async function measured(
  { name, of, path, next }: Question,
  stores: { readonly long: ThreadStore; readonly many: ThreadStore },
  rounds: number,
): Promise<Row> {
  const studio = await studioHandler({ store: stores[of], ui: false });
  const each: number[] = [];
  const whole: number[] = [];
  let answers = 0;
  for (let round = -1; round < rounds; round++) {
    const begun = performance.now();
    answers = 0;
    for (let more: string | undefined = ""; more !== undefined; ) {
      const started = performance.now();
      const response = await studio(new Request(`http://localhost/api${path}${more}`));
      const answer = (await response.json()) as Answer;
      if (round >= 0) each.push(performance.now() - started);
      answers += 1;
      more = next?.(answer);
    }
    if (round >= 0) whole.push(performance.now() - begun);
  }
  await studio.stop();
  return { name, values: { p50: median(each), worst: percentile(each, 1), answers, all: median(whole) } };
}
