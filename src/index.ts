export * from "./stores/index.ts";
export * from "./thread/index.ts";
