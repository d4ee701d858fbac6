import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { AgentHost } from "heddle";
import { sqliteStore } from "heddle/sqlite";
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
      const tools = {
        to_bob: handoff(bob, { description: "For refunds" }),
        to_eve: handoff("eve", { description: "For payments" }),
      };
      export const ann = defineAgent({ name: "ann", tools, model: model(${script}) });
      const pay = { description: "Pays", inputSchema: { type: "object" }, needsApproval: true, execute: () => "paid" };
      export const eve = defineAgent({ name: "eve", tools: { pay }, model: model({ calls: [{ name: "pay" }] }, "Paid.") });
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

  test("threads --agent finds the threads that a host has made, and leaves their metadata alone", async () => {
    const cwd = withAgents();
    const { ann, bob, eve } = await import(pathToFileURL(join(cwd, "agents.ts")).href);
    const store = sqliteStore(join(cwd, "heddle.db"));
    const host = AgentHost.create({ agents: [ann, bob, eve], store });
    for (const [id, agent] of Object.entries({ t1: "ann", t2: "bob" })) {
      await (await host.ask(id, "Hi.", { agent })).result;
    }
    await host.stop();
    expect((await store.list()).threads.map(({ metadata }) => "agent" in metadata)).toEqual([false, false]);
    await store.close();
    const { stdout } = await run(["threads", "--agent", "bob", "--json"], { cwd });
    expect(JSON.parse(stdout).threads).toMatchObject([{ id: "t2" }]);
    expect((await run(["threads", "--agent", "eve"], { cwd })).stderr).toBe("No thread matches.\n");
  });

  test("decides with the agent of the thread, whichever comes first", async () => {
    const cwd = withAgents();
    expect((await run(["ask", "Pay.", "--agent", "agents.ts#eve"], { cwd })).code).toBe(4);
    const { stdout, stderr } = await run(["approve", "last", "--agent", "agents.ts"], { cwd });
    expect(stdout, stderr).toBe("Paid.\n");
  });

  test("decides with the agent that the thread was handed to", async () => {
    const cwd = withAgents(`{ calls: [{ name: "to_eve" }] }`);
    expect((await run(["ask", "Pay.", "--agent", "agents.ts"], { cwd })).code).toBe(4);
    const { stdout, stderr } = await run(["approve", "last", "--agent", "agents.ts"], { cwd });
    expect(stdout, stderr).toBe("Paid.\n");
  });

  test("does not ask another agent in a thread that has one", async () => {
    const cwd = withAgents();
    await run(["ask", "Hi.", "--agent", "agents.ts"], { cwd });
    const { code, stderr } = await run(["ask", "Hi.", "-t", "last", "--agent", "agents.ts#bob"], { cwd });
    expect({ code, stderr }).toEqual({ code: 4, stderr: expect.stringContaining('has the agent "ann", not "bob"') });
  });

  test("does not take a file beside a server", async () => {
    const { code, stderr } = await run(["ask", "Hi.", "--server", "http://127.0.0.1:1", "--agent", "a.ts"], {
      cwd: fastFolder(),
    });
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("--agent '#name'") });
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
    const { code, stderr } = await run(["ask", "Hi.", "--agent", "agents.ts#mia"], { cwd });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining("agents.ts has no agent mia: it has ann, bob, eve."),
    });
  });
});
