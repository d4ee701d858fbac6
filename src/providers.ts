import "./thread/node-version.ts";

export * from "./providers/index.ts";
