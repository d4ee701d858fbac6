import type { ThreadStore } from "../../stores/port.ts";
import type { FaultOptions, FaultStore } from "./fault-options.ts";
import { FaultyStore } from "./faulty-store.ts";

/**
 * Wraps a store so that writes through it fail, wait, run into other writers, lose their answers, or die with the process.
 * Reads fail or wait only where they are told to. What the store underneath holds can be looked at through that store.
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
