import { createProjector, heuristic, type ProjectionInput, project } from "heddle";
import { concat, countTools, segments } from "heddle/core";
import { assistant, summary, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { context, given, refusalOf } from "./given.ts";

const thread = given(user("hi"));
const tools = [{ name: "look", description: "Looks.", inputSchema: { type: "object" } }];

describe("the system prompt", () => {
  const systemOf = (input: Partial<ProjectionInput>) => {
    const [first] = project({ thread, ...input }).messages;
    return first?.role === "system" ? first.content : undefined;
  };

  test("may be given as a text or as { prompt }, and wins over the policy's", () => {
    const policy = { systemPrompt: "Be brief." };
    expect(systemOf({ policy })).toBe("Be brief.");
    expect(systemOf({ policy, system: "Be kind." })).toBe("Be kind.");
    expect(systemOf({ policy, system: { prompt: "Be kind." } })).toBe("Be kind.");
    expect(systemOf({ policy, system: {} })).toBe("Be brief.");
  });

  test("that is blank is none", () => {
    for (const system of ["", " \n", { prompt: "" }])
      expect(systemOf({ system, policy: { systemPrompt: "Be brief." } })).toBeUndefined();
  });

  test("of a replaced context wins over both; without one the configured stays", () => {
    const replaced = (resultContext: Record<string, string>) =>
      systemOf({ thread: given(context([], {}, resultContext), user("hi")), system: "Be kind." });
    expect(replaced({ systemPrompt: "Be quick." })).toBe("Be quick.");
    expect(replaced({})).toBe("Be kind.");
  });

  test("must be text", () => {
    expect(refusalOf(() => project({ thread, system: 4 as unknown as string })).code).toBe("invalid_input");
  });
});

describe("tools", () => {
  test("count, and are given back without what an agent keeps beside them", () => {
    const withMore = tools.map((tool) => ({ ...tool, execute: () => "found" }));
    const { toolSpec, meta } = project({ thread, tools: withMore });
    expect(toolSpec).toEqual(tools);
    expect(meta.budget.tools).toBe(countTools(tools, heuristic));
    expect(meta.estimatedTokens).toBe(project({ thread }).meta.estimatedTokens + meta.budget.tools);
    expect(project({ thread }).toolSpec).toEqual([]);
  });

  test("belong to the fingerprint: their order and every word of them", () => {
    const of = (tools: ProjectionInput["tools"]) => project({ thread, tools }).meta.fingerprint;
    const [look] = tools;
    const see = { name: "see", inputSchema: { type: "object" } };
    const prints = [
      of([]),
      of(tools),
      of([...tools, see]),
      of([see, ...tools]),
      of(look && [{ ...look, description: "Sees." }]),
    ];
    expect(new Set(prints).size).toBe(prints.length);
    expect(of(undefined)).toBe(of([]));
    expect(of(tools.map(({ inputSchema, name, description }) => ({ inputSchema, description, name })))).toBe(of(tools));
  });

  test("must be a list of tools, and the error says which is none", () => {
    for (const bad of [
      "look",
      [{ name: "", inputSchema: {} }],
      [{ name: "look" }],
      [null],
      [{ name: "look", description: 4, inputSchema: {} }],
    ]) {
      expect(() => project({ thread, tools: bad as unknown as ProjectionInput["tools"] })).toThrow(/tools/);
    }
    expect(refusalOf(() => project({ thread, tools: [{ name: "", inputSchema: {} }] })).message).toContain(
      "tools[0].name",
    );
  });

  test.each(["look at", "näme", "a.b", "x".repeat(65), ""])("cannot be called %j: providers refuse it", (name) => {
    const refusal = refusalOf(() => project({ thread, tools: [...tools, { name, inputSchema: {} }] }));
    expect(refusal.code).toBe("invalid_input");
    expect(refusal.message).toContain("tools[1].name");
  });

  test("may have long names of letters, digits, _ and -, each once", () => {
    const named = (...names: string[]) => names.map((name) => ({ name, inputSchema: {} }));
    const names = ["x".repeat(64), "Look_at-2"];
    expect(project({ thread, tools: named(...names) }).toolSpec.map(({ name }) => name)).toEqual(names);
    const refusal = refusalOf(() => project({ thread, tools: named("look", "see", "look") }));
    expect(refusal.code).toBe("invalid_input");
    expect(refusal.message).toMatch(/tools\[2\]\.name .*tools\[0\]/);
  });

  test("with parameters instead of a schema: the error says what to call them", () => {
    const tool = { name: "look", parameters: { type: "object" } } as unknown as (typeof tools)[number];
    const { message } = refusalOf(() => project({ thread, tools: [tool] }));
    expect(message).toMatch(/tools\[0\]\.inputSchema is missing.*JSON schema of the parameters/);
  });

  test("with a schema that JSON cannot hold are an error that says where, for a projector that knows others too", () => {
    const cyclic: { self?: unknown } = {};
    cyclic.self = cyclic;
    const projector = createProjector();
    projector.project({ thread, tools });
    for (const schema of [cyclic, { maximum: 1n }, { at: new Date(0) }]) {
      const bad = [{ name: "look", inputSchema: schema }] as unknown as typeof tools;
      for (const call of [project, projector.project]) {
        expect(() => call({ thread, tools: bad })).toThrow(
          expect.objectContaining({ code: "not_json", message: expect.stringMatching(/^tools\[0\]\.inputSchema/) }),
        );
      }
    }
    expect(projector.project({ thread, tools }).toolSpec).toEqual(tools);
  });
});

describe("the input", () => {
  test("is refused when its thread is none", () => {
    for (const bad of [undefined, {}, JSON.parse(JSON.stringify(thread))]) {
      expect(refusalOf(() => project({ thread: bad })).code).toBe("invalid_input");
    }
  });

  test.each(["lane", "model"])("is refused when its %s is not a name", (field) => {
    for (const bad of ["", 4])
      expect(refusalOf(() => project({ thread, [field]: bad })).message).toContain(`input's ${field}`);
  });
});

describe("segments", () => {
  const input: ProjectionInput = {
    thread: given(user("hi"), assistant("hello"), summary(0, 1, "S"), user("so?"), assistant("well")),
    system: "Be kind.",
    pending: "And?",
  };

  test("put together in their order are the context", () => {
    const parts = [segments.system(input), segments.summary(input), segments.history(input), segments.pending(input)];
    expect(parts.map((part) => part.length)).toEqual([1, 1, 2, 1]);
    expect(concat(...parts)).toEqual(project(input).messages);
  });

  test("may be empty", () => {
    for (const part of [segments.system, segments.summary, segments.pending]) expect(part({ thread })).toEqual([]);
    expect(concat()).toEqual([]);
  });
});
