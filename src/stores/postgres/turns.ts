import { setImmediate as endOfTurn } from "node:timers/promises";

/** Waits for `count` turns of the event loop. */
export async function turnsOfTheLoop(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await endOfTurn();
}
