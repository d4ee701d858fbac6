import { expect, test, vi } from "vitest";

test("a run that waits without tokenSecret warns that its token is valid in this process only", async () => {
  vi.resetModules(); // the warning comes once per process, and an earlier test may have caused it
  const { defineAgent, RequestError, react } = await import("heddle");
  const { scriptedModel } = await import("heddle/testing");
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
