import { fileURLToPath } from "node:url";
import { installTrouble } from "../peers/install.ts";
import { reasonOf, runScript } from "../support/child.ts";
import type { Row } from "../support/table.ts";
import type { Job, Numbers, PeerNumbers, VariantNumbers } from "./measure.ts";

const MEASURE = fileURLToPath(new URL("measure.ts", import.meta.url));
const OURS = ["plain", "heddle"];
const TRIMMING = ["langchain", "ai-sdk", "mastra", "openai-agents"];
/** The other projects. Those that keep everything are left out of the other tables. */
const OTHERS: Readonly<Record<keyof Numbers, readonly string[]>> = {
  build: [...TRIMMING, "adk"],
  cache: TRIMMING,
  illegal: TRIMMING,
};
/** A million messages of every project have to fit. */
const MEMORY = "--max-old-space-size=12288";

/** The results of a job by variant, of all projects. */
export interface Measured<Table extends keyof Numbers> {
  readonly variants: readonly VariantNumbers<Table>[];
  /** Projects that could not be measured at all. */
  readonly unavailable: readonly Row[];
  readonly notes: readonly string[];
}

/** Runs a job for heddle and for the others, each in a process of its own, one after another. */
export async function measureAll<Table extends keyof Numbers>(
  job: Extract<Job, { table: Table }>,
  withPeers: boolean,
): Promise<Measured<Table>> {
  const trouble = withPeers ? installTrouble() : "left out; run with --peers";
  const variants: VariantNumbers<Table>[] = [];
  const unavailable: Row[] = [];
  const packages: string[] = [];
  for (const name of [...OURS, ...OTHERS[job.table]]) {
    const reason = OURS.includes(name) ? undefined : trouble;
    const answer = reason === undefined ? await measure<Table>(name, job) : reason;
    if (typeof answer === "string") unavailable.push({ name, values: {}, unavailable: answer });
    else {
      variants.push(...answer.variants);
      packages.push(...answer.packages);
    }
  }
  const notes = variants.flatMap((variant) => variant.notes.map((note) => `${variant.name}: ${note}`));
  return { variants, unavailable, notes: [...notes, `Versions: ${packages.join(", ")}.`] };
}

async function measure<Table extends keyof Numbers>(name: string, job: Job): Promise<PeerNumbers<Table> | string> {
  console.error(`${job.table}: measuring ${name}...`);
  try {
    return await runScript<PeerNumbers<Table>>(MEASURE, [name, JSON.stringify(job)], [MEMORY]);
  } catch (error) {
    return reasonOf(error);
  }
}

/** The row of a variant, with these values if there are any. */
export function rowOf<Table extends keyof Numbers>(
  { name, numbers, trouble = "no numbers" }: VariantNumbers<Table>,
  valuesOf: (numbers: Numbers[Table]) => Pick<Row, "values" | "remark">,
): Row {
  return numbers === undefined ? { name, values: {}, unavailable: trouble } : { name, ...valuesOf(numbers) };
}
