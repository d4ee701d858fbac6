export { type CalibratedCounter, type CallSample, calibrate, calibrated } from "./calibrate.ts";
export { countMessage, countTool, countTools } from "./count.ts";
export { type CounterFacts, factsOf, type TokenCounter } from "./counter.ts";
export { type CountTokens, type Encoding, exactCounter } from "./exact.ts";
export { FILE_TOKENS } from "./files.ts";
export { heuristic } from "./heuristic.ts";
export { type LoadModule, loadExactCounter } from "./load-exact.ts";
