import { defineAgent } from "../../../src/agent/definition/define-agent.ts";
import { scriptedModel } from "../../../src/scripted-model/scripted-model.ts";

const CHARGES = 40;

/** Its model calls one tool many times in one answer; the calls run one after the other. */
export function charging(execute: () => Promise<string>) {
  const model = scriptedModel([{ calls: Array.from({ length: CHARGES }, () => ({ name: "charge" })) }]);
  const charge = { inputSchema: { type: "object" }, execute } as const;
  return defineAgent({ model, tools: { charge }, toolConcurrency: 1 });
}
