import { defineAgent, HeddleError, ThreadHeldError } from "heddle";
import { scriptedModel } from "heddle/testing";
import { expect, test } from "vitest";
import { createSimulation } from "../../../src/testing/simulation/simulate.ts";
import { PendingCalls } from "../../../src/testing/simulation/user-calls.ts";

const stopped = new HeddleError({ code: "server_stopped", message: "It was stopped." });
const held = new ThreadHeldError("thread_1", "two", 1);
const refused = new HeddleError({ code: "busy", message: "A request is open." });

test.each([
  ["was stopped", stopped, true],
  ["has lost its thread to another holder", held, true],
  ["refuses an ask", refused, false],
])("a server that %s is forgotten only where it carries the thread no longer", async (_, error, isForgotten) => {
  const make = () => defineAgent({ model: scriptedModel([]) });
  const world = await createSimulation({ seed: 1, make, faults: () => undefined });
  const process = world.process();
  world.current = process;
  const asked = new PendingCalls(world);
  asked.begin(process, "ask", () => Promise.reject(error), ["busy"]);
  await world.settle();
  expect(asked.waiting).toEqual([]);
  expect(world.current).toBe(isForgotten ? undefined : process);
  await world.close();
});
