import type { ReactSettings } from "../../../src/agent/react/settings.ts";

const inputSchema = { type: "object" } as const;

/** An agent with a plain tool, one that may run twice, one that needs approval, and one that is answered from outside. */
export const CALCULATOR: Partial<ReactSettings> = {
  name: "calculator",
  model: "test:model",
  systemPrompt: "You are a calculator.",
  tools: ["add", "look", "pay", "confirm"].map((name) => ({ name, inputSchema })),
  traits: { look: { repeatable: true }, pay: { needsApproval: true }, confirm: { client: true } },
};
