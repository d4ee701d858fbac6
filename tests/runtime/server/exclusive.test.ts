import { type AnyTool, defineAgent } from "heddle";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { anything, failureOf, stage } from "../support/stage.ts";

/** Tools that note when they begin and end, and end when the test says so. */
function notes() {
  const seen: string[] = [];
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const gate = (id: string) => {
    const known = gates.get(id) ?? Promise.withResolvers<void>();
    gates.set(id, known);
    return known;
  };
  const tool = (more: Partial<AnyTool>): AnyTool => ({
    inputSchema: anything,
    execute: async ({ id }: { readonly id: string }) => {
      seen.push(`+${id}`);
      await gate(id).promise;
      seen.push(`-${id}`);
      return id;
    },
    ...more,
  });
  return { seen, tool, open: (id: string) => gate(id).resolve() };
}

const call = (name: string, id: string, path?: string) => ({ id, name, arguments: { id, path } });
const byPath = ({ path }: { readonly path?: string }) => path;

describe("calls that must not run at once", () => {
  test("run one after the other in their order; others run meanwhile", async () => {
    const { seen, tool, open } = notes();
    const on = await stage();
    const calls = [call("lock", "a"), call("lock", "b"), call("free", "c"), call("lock", "d"), call("other", "e")];
    const tools = { lock: tool({ exclusive: true }), free: tool({}), other: tool({ exclusive: true }) };
    const server = await on.start({ script: [{ calls }, "Done."], tools });
    const request = await on.end(server.ask("Go."));
    await on.settled();
    expect(seen).toEqual(["+c", "+a", "+e"]);
    for (const id of ["d", "b", "a"]) open(id); // it is their order that counts
    await on.settled();
    expect(seen.slice(3)).toEqual(["-a", "+b", "-b", "+d", "-d"]);
    for (const id of ["c", "e"]) open(id);
    expect((await on.end(request.result)).text).toBe("Done.");
  });

  test("have the key that the function returns, which other tools share; without a key a call waits for none", async () => {
    const { seen, tool, open } = notes();
    const on = await stage();
    const slow = {
      "~standard": {
        version: 1,
        vendor: "tests",
        validate: (value: unknown) => new Promise((resolve) => setImmediate(() => resolve({ value }))),
        jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) },
      },
    } as const;
    const tools = {
      edit: tool({ exclusive: byPath, inputSchema: slow as never }), // its arguments take longer to check
      write: tool({ exclusive: byPath }),
    };
    const calls = [call("edit", "a", "x"), call("write", "b", "x"), call("write", "c", "y"), call("write", "d")];
    const server = await on.start({ script: [{ calls }, "Done."], tools });
    const request = await on.end(server.ask("Go."));
    await on.settled();
    expect([...seen].sort()).toEqual(["+a", "+c", "+d"]);
    for (const id of ["a", "b", "c", "d"]) open(id);
    await on.end(request.result);
    expect(seen.indexOf("-a")).toBeLessThan(seen.indexOf("+b"));
  });

  test("take no place of others while they wait", async () => {
    const { seen, tool, open } = notes();
    const on = await stage();
    const tools = { lock: tool({ exclusive: true }), free: tool({}) };
    const calls = [call("lock", "a"), call("lock", "b"), call("lock", "c"), call("free", "d")];
    const server = await on.start({ script: [{ calls }, "Done."], tools, toolConcurrency: 2 });
    const request = await on.end(server.ask("Go."));
    await on.settled();
    expect(seen).toEqual(["+d", "+a"]);
    for (const id of ["a", "b", "c", "d"]) open(id);
    await on.end(request.result);
  });

  test("a call that waits for its approval holds up none, and waits for its turn when it is approved", async () => {
    const { seen, tool, open } = notes();
    const on = await stage();
    const needsApproval = ({ id }: { readonly id: string }) => id === "a";
    const tools = { lock: tool({ exclusive: true, needsApproval }) };
    const script = [{ calls: [call("lock", "a"), call("lock", "b")] }, "Done."];
    const server = await on.start({ script, tools });
    const request = await on.end(server.ask("Go."));
    await on.settled();
    await on.end(server.approve("a"));
    await on.settled();
    expect(seen).toEqual(["+b"]);
    open("a");
    open("b");
    await on.end(request.result);
    expect(seen).toEqual(["+b", "-b", "+a", "-a"]);
  });

  test("a call that fails, or that never ends after a cancel, holds up none", async () => {
    const { seen, tool, open } = notes();
    const on = await stage();
    const execute = ({ id }: { readonly id: string }) => {
      if (id === "a") throw new Error("broke");
      seen.push(id);
      return id === "b" ? new Promise(() => undefined) : id;
    };
    const tools = { lock: tool({ exclusive: true, execute }) };
    const script = [{ calls: [call("lock", "a"), call("lock", "b"), call("lock", "c")] }, "Done."];
    const server = await on.start({ script: [...script, { calls: [call("lock", "d")] }, "Done."], tools });
    const request = await on.end(server.ask("Go."));
    await on.settled();
    expect(seen).toEqual(["b"]);
    await on.end(server.cancel());
    expect((await on.end(failureOf(request.result))).code).toBe("request_cancelled");
    expect(seen).toEqual(["b"]); // c did not start
    open("d");
    expect((await on.end((await on.end(server.ask("Again."))).result)).text).toBe("Done.");
  });

  test("a function that throws gives the key of the tool alone, and is reported", async () => {
    const { seen, tool, open } = notes();
    const on = await stage();
    const exclusive = (): string => {
      throw new Error("no key");
    };
    const errors: unknown[] = [];
    const tools = { lock: tool({ exclusive }) };
    const script = [{ calls: [call("lock", "a"), call("lock", "b")] }, "Done."];
    const server = await on.start({ script, tools }, { onError: (error) => void errors.push(error) });
    const request = await on.end(server.ask("Go."));
    await on.settled();
    expect(seen).toEqual(["+a"]);
    open("a");
    open("b");
    await on.end(request.result);
    expect(errors.map(String)).toEqual(["Error: no key", "Error: no key"]);
  });

  test("keep their order when another process resumes them", async () => {
    const { seen, tool, open } = notes();
    const on = await stage();
    const hung = Promise.withResolvers<void>();
    const hanging = tool({ exclusive: true, repeatable: true, execute: () => hung.promise });
    const script = [{ calls: [call("lock", "a"), call("lock", "b")] }];
    const first = await on.start({ script, tools: { lock: hanging } });
    await on.end(first.ask("Go."));
    await on.settled();
    await on.end(first.stop({ graceMs: 0 }));
    const second = await on.start({ script: ["Done."], tools: { lock: tool({ exclusive: true, repeatable: true }) } });
    await on.settled();
    expect(seen).toEqual(["+a"]);
    open("a");
    open("b");
    await on.end(second.request?.result ?? Promise.reject(new Error("nothing was resumed")));
    expect(seen).toEqual(["+a", "-a", "+b", "-b"]);
  });

  test("any other value is refused", () => {
    const tools = { lock: { inputSchema: anything, execute: () => 1, exclusive: "path" as never } };
    expect(() => defineAgent({ model: scriptedModel([]), tools })).toThrow("lock.exclusive must be a boolean");
  });
});
