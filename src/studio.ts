import "./thread/node-version.ts";

export { assistant } from "./studio/agents/assistant.ts";
export { modelFromEnv } from "./studio/agents/model-from-env.ts";
export type * from "./studio/contract/act.ts";
export type { Answers } from "./studio/contract/answers.ts";
export type * from "./studio/contract/call.ts";
export type { StreamData } from "./studio/contract/event.ts";
export type { Info, OfferedPrompt } from "./studio/contract/info.ts";
export type * from "./studio/contract/thread.ts";
export { demoAgent } from "./studio/demo/demo-agent.ts";
export { type DemoOptions, demoModel } from "./studio/demo/demo-model.ts";
export { type StudioHandler, studioHandler } from "./studio/handler.ts";
export { StudioError } from "./studio/http/error.ts";
export { openApi } from "./studio/openapi.ts";
export type { RunningStudio, StartOptions, StudioOptions } from "./studio/options.ts";
export { startStudio } from "./studio/start-studio.ts";
