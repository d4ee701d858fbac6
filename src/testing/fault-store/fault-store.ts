import type { ThreadStore } from "../../stores/port.ts";
import type { FaultOptions, FaultStore } from "./fault-options.ts";
import { FaultyStore } from "./faulty-store.ts";

/**
 * Wraps a store and injects faults: writes fail, are delayed, conflict with other writers, lose their answers, or crash.
 * Reads fail or are delayed only when configured. Use the wrapped store to inspect what was written.
 *
 * @example
 * const faulty = faultStore(store, { plan: ({ n }) => (n === 2 ? { type: "fail" } : undefined) });
 * await faulty.append("thread_1", { kind: "note" });
 * await faulty.append("thread_1", { kind: "note" }).catch(({ code }) => code); // "store_unreachable"
 * faulty.writes.map(({ method, fault }) => [method, fault]); // [["append", undefined], ["append", "fail"]]
 */
export function faultStore(store: ThreadStore, options: FaultOptions = {}): FaultStore {
  return new FaultyStore(store, options);
}
