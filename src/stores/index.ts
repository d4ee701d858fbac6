export { defineStore } from "./define-store.ts";
export type * from "./driver.ts";
export * from "./errors.ts";
export type { ListQuery, Place } from "./list-query.ts";
export { MemoryDatabase } from "./memory/database.ts";
export { type MemoryStoreOptions, memoryStore } from "./memory/memory-store.ts";
export { type OpenStoreOptions, openStore } from "./open-store.ts";
export type * from "./port.ts";
export type { StoreOptions, StorePorts } from "./ports.ts";
