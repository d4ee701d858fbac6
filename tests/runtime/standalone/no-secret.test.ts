import { defineAgent, RequestError, react } from "heddle";
import { scriptedModel } from "heddle/testing";
import { expect, test } from "vitest";

// In a file of its own: there is one such warning in the life of a process.
test("whoever is handed a token because a run waits is warned that no lasting secret signs it", async () => {
  const warnings: string[] = [];
  const warn = (message: string) => void warnings.push(message);
  const pay = { inputSchema: { type: "object" }, needsApproval: true, execute: () => "paid" } as const;
  const model = scriptedModel(["Hello.", { calls: [{ id: "c1", name: "pay" }] }, "Paid."]);
  const agent = defineAgent({ model, tools: { pay } });

  await react.run("Hi.", agent, { warn });
  expect(warnings).toEqual([]);

  const waiting: unknown = await react.run("Pay.", agent, { warn }).catch((error: unknown) => error);
  expect(warnings).toEqual([expect.stringContaining("No tokenSecret is set")]);
  const token = RequestError.isInstance(waiting) ? (waiting.token ?? "") : "";
  const { text } = await react.collect(token, agent, { warn, approve: ["c1"] });
  expect([text, warnings.length]).toEqual(["Paid.", 1]);
});
