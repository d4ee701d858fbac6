import { readFileSync } from "node:fs";
import type { Unit } from "./units.ts";

/** A number that was measured, beside the one that bench/budgets.json allows. */
export interface Check {
  readonly name: string;
  readonly what: string;
  /** Undefined when it could not be measured. */
  readonly measured: number | undefined;
  readonly bound: "at most" | "at least";
  readonly budget: number;
  readonly unit: Unit;
  readonly ok: boolean;
}

type Named = Pick<Check, "what" | "unit">;

/** The budgets of one bench. A name that bench/budgets.json does not have is an error. */
export class Budgets {
  readonly #numbers: Readonly<Record<string, number>>;
  readonly #section: string;

  constructor(section: string) {
    const text = readFileSync(new URL("../budgets.json", import.meta.url), "utf8");
    const sections = JSON.parse(text) as Record<string, Record<string, number>>;
    this.#numbers = sections[section] ?? {};
    this.#section = section;
  }

  atMost(name: string, measured: number | undefined, { what, unit }: Named): Check {
    const budget = this.#budget(name);
    const ok = measured !== undefined && measured <= budget;
    return { name, what, measured, bound: "at most", budget, unit, ok };
  }

  atLeast(name: string, measured: number | undefined, { what, unit }: Named): Check {
    const budget = this.#budget(name);
    const ok = measured !== undefined && measured >= budget;
    return { name, what, measured, bound: "at least", budget, unit, ok };
  }

  #budget(name: string): number {
    const budget = this.#numbers[name];
    if (budget === undefined) throw new Error(`bench/budgets.json has no "${name}" in "${this.#section}".`);
    return budget;
  }
}
