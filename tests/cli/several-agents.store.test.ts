import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { fastFolder } from "../support/temp-folder.ts";
import { run } from "./support/fake-io.ts";

describe("a file of several agents", () => {
  /** Ann hands over to Bob. Who speaks names itself. */
  function withAgents(script = `"I am Ann."`): string {
    const cwd = fastFolder();
    const heddle = JSON.stringify(new URL("../../src/index.ts", import.meta.url).href);
    const testing = JSON.stringify(new URL("../../src/testing.ts", import.meta.url).href);
    const text = `
      import { defineAgent, handoff } from ${heddle};
      import { scriptedModel } from ${testing};
      const model = (...script) => scriptedModel(script, { order: "any" });
      export const bob = defineAgent({ name: "bob", model: model("I am Bob.", "I am Bob.") });
      const tools = { to_bob: handoff(bob, { description: "For refunds" }) };
      export const ann = defineAgent({ name: "ann", tools, model: model(${script}) });
      export default ann;`;
    writeFileSync(join(cwd, "agents.ts"), text);
    return cwd;
  }

  test("serves all: the first one answers, the one after the # does, and each thread keeps its own", async () => {
    const cwd = withAgents();
    const said = async (...args: readonly string[]) => (await run(["ask", ...args], { cwd })).stdout;
    expect(await said("Hi.", "--agent", "agents.ts")).toBe("I am Ann.\n");
    expect(await said("Hi.", "--agent", "agents.ts#bob")).toBe("I am Bob.\n");
    expect(await said("And now?", "-t", "last", "--agent", "agents.ts")).toBe("I am Bob.\n");
    const { stdout, stderr } = await run(["threads", "--agent", "bob", "--json"], { cwd });
    expect(stdout && JSON.parse(stdout).threads, stderr).toHaveLength(1);
  });

  test("hands over", async () => {
    const cwd = withAgents(`{ calls: [{ name: "to_bob" }] }`);
    const { stdout, stderr, code } = await run(["ask", "I want a refund.", "--agent", "agents.ts"], { cwd });
    expect({ stdout, code }, stderr).toEqual({ stdout: "I am Bob.\n", code: 0 });
    const again = await run(["ask", "Thanks.", "-t", "last", "--agent", "agents.ts"], { cwd });
    expect(again.stdout, again.stderr).toBe("I am Bob.\n");
    expect(again.stderr).not.toContain("warning");
  });

  test("has no other agent", async () => {
    const cwd = withAgents();
    const { code, stderr } = await run(["ask", "Hi.", "--agent", "agents.ts#eve"], { cwd });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining("agents.ts has no agent eve: it has ann, bob."),
    });
  });
});
