export { SpecificationFailure } from "./failure.ts";
export type { AsymmetricMatcher, Partly } from "./match.ts";
export type { ExpectedDirective, ExpectedEntry, Outcome } from "./outcome.ts";
export { numberedPorts } from "./ports.ts";
export { asked, type CalledTool, modelCalled, modelSaid, toolGave } from "./signals.ts";
export { type Given, type Specification, specify } from "./specify.ts";
