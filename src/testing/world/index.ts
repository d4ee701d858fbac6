export type { AgentParts, MakeAgent } from "./agent.ts";
export { LawBroken } from "./law-broken.ts";
export { type Simulation, type SimulationOptions, simulate } from "./simulate.ts";
