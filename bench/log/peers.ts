import { fileURLToPath } from "node:url";
import { installTrouble } from "../peers/install.ts";
import type { PeerNumbers, PeerSizes } from "../peers/log/measure.ts";
import { reasonOf, runScript } from "../support/child.ts";
import type { Row, Table } from "../support/table.ts";
import { show, showSize } from "../support/units.ts";
import { AGENTS } from "./agents.ts";
import type { Bench } from "./bench.ts";

const MEASURE = fileURLToPath(new URL("../peers/log/measure.ts", import.meta.url));
const TAIL = 200;
const OURS = ["heddle", "heddle-relaxed"];
const OTHERS = ["langgraph", "mastra", "openai-agents"];

/** Other projects doing the same job, each in a process of its own. */
export async function peers({ sizes, scratch, peers: wanted }: Bench): Promise<Table> {
  const [short, long] = sizes.peerLoads;
  const peerSizes: PeerSizes = {
    appends: sizes.peerAppends,
    conversations: AGENTS,
    appendsPerConversation: 4,
    tail: TAIL,
    short,
    long,
  };
  const trouble = wanted ? installTrouble() : "left out; run with --peers";
  const answers: Answer[] = [];
  for (const name of [...OURS, ...OTHERS]) {
    if (trouble !== undefined && OTHERS.includes(name)) answers.push({ name, trouble });
    else answers.push(await measure(name, scratch.folder(`peer-${name}`), peerSizes));
  }
  return {
    id: "peers",
    title: `Other projects, the same job: ${show(sizes.peerAppends, "count")} messages one by one, ${AGENTS} conversations at once, the last ${TAIL}`,
    columns: [
      { key: "append", label: "append p50", unit: "us" },
      { key: "p99", label: "p99", unit: "us" },
      { key: "lastAppends", label: "last tenth", unit: "us" },
      { key: "toBaseline", label: "to baseline", unit: "times" },
      { key: "conversations", label: `${AGENTS} at once`, unit: "per second" },
      { key: "short", label: `last ${TAIL} of ${showSize(short)}`, unit: "ms" },
      { key: "long", label: `of ${showSize(long)}`, unit: "ms" },
      { key: "bytes", label: "disk to payload", unit: "times" },
    ],
    rows: answers.map(row),
    notes: [
      "The baseline is the bare insert with synchronous=FULL, in turns with the appends in the same process. Last tenth: the p50 of the last appends.",
      "synchronous=1 is NORMAL: an append is not yet safe from a power cut when it is acknowledged. 2 is FULL.",
      ...answers.flatMap((answer) => ("trouble" in answer ? [] : notesOf(answer))),
    ],
  };
}

type Answer = PeerNumbers | { readonly name: string; readonly trouble: string };

async function measure(name: string, folder: string, sizes: PeerSizes): Promise<Answer> {
  console.error(`measuring ${name}...`);
  try {
    return await runScript<PeerNumbers>(MEASURE, [name, folder, JSON.stringify(sizes)]);
  } catch (error) {
    return { name, trouble: reasonOf(error) };
  }
}

function row(answer: Answer): Row {
  if ("trouble" in answer) return { name: answer.name, values: {}, unavailable: answer.trouble };
  return {
    name: answer.name,
    values: {
      append: answer.appendP50 * 1000,
      p99: answer.appendP99 * 1000,
      lastAppends: answer.lastAppendsP50 * 1000,
      toBaseline: answer.appendToBaseline,
      conversations: answer.conversationsPerSecond,
      short: answer.shortTailP50,
      long: answer.longTailP50,
      bytes: answer.bytesToPayload,
    },
  };
}

function notesOf({ name, packages, durability, notes }: PeerNumbers): string[] {
  return [`${name}: ${packages.join(", ")}; ${durability}.`, ...notes.map((note) => `${name}: ${note}`)];
}
