import { expect } from "vitest";

type Facts = Readonly<Record<string, string | number | readonly (string | number)[]>>;

/** Numbers a test has found out, on one line of its output. */
export function report(facts: Facts): void {
  const told = Object.entries(facts).map(
    ([name, value]) => `${name} ${Array.isArray(value) ? value.join("/") : value}`,
  );
  console.log(`${expect.getState().currentTestName}: ${told.join(", ")}`);
}
