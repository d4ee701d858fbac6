import { setImmediate as endOfTurn } from "node:timers/promises";

/** Waits until everything that is ready in this turn of the event loop has run. */
export async function turnsOfTheLoop(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await endOfTurn();
}
