import { memoryStore } from "../../stores/memory/memory-store.ts";
import { VirtualTime } from "./time.ts";
import { SimulatedWorld, stream, type WorldParts } from "./world.ts";

/** A new simulation: an empty store whose time, ids and salts come from the seed. */
export async function createWorld(parts: Omit<WorldParts, "time" | "store">): Promise<SimulatedWorld> {
  const time = new VirtualTime();
  const salts = stream(parts.seed, "salts");
  let made = 0;
  const store = memoryStore({
    clock: () => time.now,
    random: (size) => Uint8Array.from({ length: size }, () => salts.below(256)),
    ids: (prefix) => `${prefix}_store_${made++}`,
    pollMs: 2 ** 31 - 1, // watchers are woken by writes
  });
  await store.list(); // loads the machinery now, so that the simulation stays deterministic
  return new SimulatedWorld({ ...parts, time, store });
}
