import { agentTool, defineAgent, handoff } from "heddle";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";

const agent = defineAgent({ name: "sales", model: scriptedModel([]) });
const options = { description: "Offers" };

describe.each([
  ["agentTool", agentTool],
  ["handoff", handoff],
] as const)("%s", (_, make) => {
  test.each<readonly [what: string, path: string, given: readonly unknown[]]>([
    ["without an agent", "agent", [undefined, options]],
    ["with what defineAgent has not made", "agent", [{ name: "sales" }, options]],
    ["with an empty name", "agent", ["", options]],
    ["without options", "description", [agent]],
    ["without a description", "description", [agent, {}]],
    ["with an empty description", "description", [agent, { description: "" }]],
  ])("is refused %s", (_what, path, given) => {
    const call = make as (...given: readonly unknown[]) => unknown; // as from code without types
    expect(() => call(...given)).toThrow(expect.objectContaining({ code: "invalid_agent", path }));
  });
});

test.each([
  ["agentTool", agentTool, { ...options, prompts: String }, "prompts"],
  ["handoff", handoff, { ...options, describe: "" }, "describe"],
] as const)("%s refuses unknown options", (_, make, given, name) => {
  const call = make as (...given: readonly unknown[]) => unknown;
  const error = { code: "invalid_options", message: expect.stringContaining(name) };
  expect(() => call(agent, given)).toThrow(expect.objectContaining(error));
});

test("agentTool is refused with a name: its agent must run where the parent runs", () => {
  expect(() => agentTool("sales" as never, options)).toThrow(expect.objectContaining({ code: "invalid_agent" }));
});

test.each(["Review it.", null, {}])("agentTool refuses the prompt %j, which is not a function", (prompt) => {
  const call = agentTool as (...given: readonly unknown[]) => unknown; // as from code without types
  const error = { code: "invalid_options", path: "prompt", message: expect.stringContaining("must be a function") };
  expect(() => call(agent, { ...options, prompt })).toThrow(expect.objectContaining(error));
});
