import { type Lap, Result } from "./lap.ts";

export type Contender = (round: number) => Lap | Promise<Lap>;

export interface RaceOptions {
  readonly rounds: number;
  /** Rounds whose laps are thrown away. */
  readonly warmup?: number;
}

/**
 * Lets contenders run in turns, one lap each per round, in an order that changes: a machine that is slower for a while
 * is slower for all of them.
 */
export async function race<Name extends string>(
  contenders: Readonly<Record<Name, Contender>>,
  { rounds, warmup = 1 }: RaceOptions,
): Promise<Record<Name, Result>> {
  const names = Object.keys(contenders) as Name[]; // the keys of a Record<Name, ...>
  const laps = new Map<Name, Lap[]>(names.map((name) => [name, []]));
  for (let round = -warmup; round < rounds; round += 1) {
    for (const name of orderOf(names, round + warmup)) {
      const lap = await contenders[name](round);
      if (round >= 0) laps.get(name)?.push(lap);
    }
  }
  return Object.fromEntries(names.map((name) => [name, new Result(laps.get(name) ?? [])])) as Record<Name, Result>; // by names
}

/** Begins with another one each round, and turns back on every other: 123, 132, 231... */
function orderOf<Name>(names: readonly Name[], round: number): Name[] {
  const start = (round >> 1) % names.length;
  const turned = [...names.slice(start), ...names.slice(0, start)];
  return round % 2 === 0 ? turned : turned.reverse();
}
