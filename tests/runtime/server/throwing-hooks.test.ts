import { createProjector, HeddleError, jsonSchema } from "heddle";
import { describe, expect, test } from "vitest";
import { anything, eventsOf, expectWhole, stage } from "../support/stage.ts";

/** Each of the caller's functions, in an agent whose other parts work. `hit` throws at one of its calls. */
const HOOKS: { readonly [name: string]: (hit: () => void) => { readonly config?: object; readonly options?: object } } =
  {
    accept: (hit) => ({ config: { accept: () => void hit() } }),
    systemPrompt: (hit) => ({ config: { systemPrompt: () => `${hit() ?? "Be brief."}` } }),
    transformRequest: (hit) => ({ config: { transformRequest: () => hit() ?? {} } }),
    guardTools: (hit) => ({ config: { guardTools: () => hit() ?? "allow" } }),
    stopWhen: (hit) => ({ config: { stopWhen: () => hit() ?? false } }),
    costUsd: (hit) => ({ config: { limits: { maxCostUsd: 9, costUsd: () => hit() ?? 0 } } }),
    output: (hit) => {
      const validate = (value: unknown) => hit() ?? { success: true, value };
      return { config: { output: jsonSchema({ type: "object" }, { validate: validate as never }) } };
    },
    "tokenCounter.count": (hit) => {
      const count = (text: string): number => hit() ?? text.length;
      const tokenCounter = { id: "own", version: "1", count, perMessage: 3 };
      return { config: { tokenCounter, contextPolicy: { tokenEstimator: "exact" } } };
    },
    "projector.project": (hit) => {
      const real = createProjector();
      const project: typeof real.project = (input) => hit() ?? real.project(input);
      return { config: { projector: { ...real, project, explain: real.explain.bind(real) } } };
    },
    onError: (hit) => ({ options: { onError: hit }, config: { guardTools: () => Promise.reject(new Error("guard")) } }),
    warn: (hit) => ({ options: { warn: hit } }),
  };

/** Throws at one of its calls. */
function bomb(at: number): { readonly hit: () => undefined; readonly calls: () => number } {
  let calls = 0;
  return {
    calls: () => calls,
    hit: () => {
      calls += 1;
      if (calls === at) throw new Error("postgres://u:secret@db");
    },
  };
}

describe.each(Object.entries(HOOKS))("%s that throws", (_name, made) => {
  test("at any of its calls loses no result, and the request has one end with a code", async () => {
    for (let at = 1, calls = 1; at <= calls && at <= 60; at++) {
      const { hit, calls: count } = bomb(at);
      const { config = {}, options = {} } = made(hit);
      const on = await stage();
      const ran: string[] = [];
      const execute = (_input: unknown, { toolCallId }: { readonly toolCallId: string }): string => {
        ran.push(toolCallId);
        return `did ${toolCallId}`;
      };
      const script = [
        {
          calls: [
            { id: "a", name: "act" },
            { id: "b", name: "act" },
          ],
        },
        { calls: [{ id: "c", name: "act" }] },
        ...Array.from({ length: 4 }, () => "{}"),
      ];
      const tools = { act: { inputSchema: anything, execute } };
      const server = await on.start({ script, tools, ...config } as never, options);
      const request = await on.end(server.ask("Go.")).catch((error: unknown) => {
        expect(HeddleError.isInstance(error), String(error)).toBe(true);
        return undefined;
      });
      if (request !== undefined) {
        await on.end(request.result.catch((error: unknown) => expect(HeddleError.isInstance(error)).toBe(true)));
        expectWhole(await eventsOf(request));
        const log = JSON.stringify(await on.log());
        for (const id of ran) expect(log).toContain(`did ${id}`);
        expect(log).not.toContain("secret");
        expect(log).not.toContain("runtime_failed");
      } else expect(await on.log()).toEqual([]);
      await on.end(server.stop());
      calls = Math.max(calls, count());
    }
  });
});
