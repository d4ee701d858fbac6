import "./thread/node-version.ts";

export * from "./agent/index.ts";
export * from "./checkpoint/index.ts";
export * from "./lanes/index.ts";
export * from "./projection/index.ts";
export * from "./runtime/index.ts";
export * from "./stores/index.ts";
export * from "./thread/index.ts";
export * from "./tokens/index.ts";
