import { appendFileSync } from "node:fs";
import { defineAgent } from "../../../src/agent/definition/define-agent.ts";
import { ruleModel } from "../../simulation/kills/rule-model.ts";

/** Rounds of tools for each ask. */
const ROUNDS = 3;

export type Recover = "resume" | "fail";

/**
 * An agent whose tool leaves a line in a file, which nobody can take back. The tool is not repeatable, and no two of its
 * calls have the same number, so a line that is there twice was a call that ran twice.
 */
export function killableAgent(file: string, recover: Recover) {
  const inputSchema = { type: "object" } as const;
  return defineAgent({
    model: ruleModel((prompt) => {
      const results = prompt.split('"role":"tool"').length - 1;
      const ofAsk = (prompt.split('"role":"user"').at(-1) ?? "").split('"role":"tool"').length - 1;
      return ofAsk >= ROUNDS
        ? "Done."
        : {
            calls: [
              ["look", results],
              ["pay", results],
            ],
          };
    }),
    tools: {
      look: { inputSchema, repeatable: true, execute: ({ serial }: { serial: number }) => `seen ${serial}` },
      pay: {
        inputSchema,
        execute: ({ serial }: { serial: number }) => {
          appendFileSync(file, `${serial}\n`);
          return `paid ${serial}`;
        },
      },
    },
    contextPolicy: { maxInputTokens: 10_000_000 },
    recover,
  });
}
