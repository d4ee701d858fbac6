import { OTHERS, type PeerName } from "../peers/agent/peers.ts";
import { installTrouble } from "../peers/install.ts";
import { reasonOf } from "../support/child.ts";
import { type Lap, Result } from "../support/lap.ts";
import { race } from "../support/race.ts";
import type { Row } from "../support/table.ts";
import type { Bench } from "./bench.ts";
import type { LapJob } from "./lap.ts";
import { type Facts, Worker } from "./worker.ts";

/** The results by the names of the contenders that could run. */
type Results = Readonly<Partial<Record<PeerName, Result>>>;

export interface Compared {
  readonly rows: readonly Row[];
  readonly notes: readonly string[];
  readonly results: Results;
  /** The same with the processor's time instead of the clock's. */
  readonly costs: Results;
}

/** The table's columns. */
export const COLUMNS = [
  { key: "rate", label: "requests", unit: "per second" },
  { key: "p50", label: "p50", unit: "time" },
  { key: "p99", label: "p99", unit: "time" },
  { key: "toBaseline", label: "to baseline", unit: "times" },
  { key: "ours", label: "ours to it", unit: "times" },
  { key: "cpu", label: "CPU", unit: "time" },
  { key: "oursCpu", label: "ours to it", unit: "times" },
] as const;

/** Heddle, the baseline and the others do the same requests in turns. The first heddle contender is the reference. */
export async function compare(
  { sizes: { rounds, warmUpRequests }, scratch, peers: wanted }: Bench,
  id: string,
  ours: readonly [PeerName, ...PeerName[]],
  job: LapJob,
): Promise<Compared> {
  const trouble = wanted ? installTrouble() : "left out; run with --peers";
  const workers = new Map<PeerName, Worker>();
  const unavailable: Row[] = [];
  for (const name of ["baseline", ...ours, ...OTHERS] as const) {
    if (trouble !== undefined && OTHERS.includes(name)) unavailable.push({ name, values: {}, unavailable: trouble });
    else {
      try {
        const worker = await Worker.start(name, scratch.folder(`${id}-${name}`), job.usesTool);
        await warmUp(worker, job, warmUpRequests); // a wrong answer fails here, before anything is measured
        workers.set(name, worker);
      } catch (error) {
        unavailable.push({ name, values: {}, unavailable: reasonOf(error) });
      }
    }
  }
  console.error(`${id}: ${[...workers.keys()].join(", ")}...`);
  const spent = new Map<PeerName, Lap[]>();
  const contenders = [...workers].map(([name, worker]) => {
    const run = async (round: number): Promise<Lap> => {
      const lap = await worker.lap(job);
      const { operations, cpuMs: ms } = lap;
      if (round >= 0) spent.set(name, [...(spent.get(name) ?? []), { operations, ms, each: [] }]);
      return lap;
    };
    return [name, run] as const;
  });
  const results: Results = await race(Object.fromEntries(contenders), { rounds });
  const costs: Results = Object.fromEntries([...spent].map(([name, laps]) => [name, new Result(laps)]));
  await Promise.all([...workers.values()].map((worker) => worker.stop()));
  const all = [...workers.values()].map(({ facts }) => facts);
  const rows = [...workers].map(([name, { facts }]) => row(facts, name, { results, costs }, ours[0]));
  return {
    rows: [...rows, ...unavailable],
    results,
    costs,
    notes: [
      ...all.flatMap(({ name, notes }) => notes.map((note) => `${name}: ${note}`)),
      `Each contender has answered ${warmUpRequests} requests before, or as many as it could in ${WARM_UP_MS / 1000} s.`,
      `Versions: ${[...new Set(all.flatMap(({ packages }) => packages))].join(", ")}.`,
    ],
  };
}

const WARM_UP_MS = 5000;

/** Until the code of a contender is compiled, as that of a server in use is, or it took too long. */
async function warmUp(worker: Worker, job: LapJob, requests: number): Promise<void> {
  const begun = performance.now();
  for (let done = 0; done < requests && performance.now() - begun < WARM_UP_MS; ) {
    done += (await worker.lap(job)).operations;
  }
}

function row(
  facts: Facts,
  name: PeerName,
  { results, costs }: Pick<Compared, "results" | "costs">,
  ours: PeerName,
): Row {
  const { [name]: result, [ours]: best, baseline } = results;
  const { [name]: cost, [ours]: bestCost } = costs;
  return {
    name: facts.name,
    remark: facts.durability,
    values: {
      rate: result?.perSecond,
      p50: result?.p50,
      p99: result?.p99,
      toBaseline: baseline && result?.over(baseline),
      ours: result && best?.over(result),
      cpu: cost?.perOperation,
      oursCpu: cost && bestCost?.over(cost),
    },
  };
}
