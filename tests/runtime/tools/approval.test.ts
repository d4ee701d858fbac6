import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { AnyTool } from "../../../src/agent/definition/tool.ts";
import { approvalNeeded, checkEdited } from "../../../src/runtime/tools/approval.ts";
import { call, object } from "./support/call.ts";
import { never, world } from "./support/world.ts";

const amount = z.object({ amount: z.string().transform(Number) });

function asked(needsApproval: unknown, args = {}, inputSchema: AnyTool["inputSchema"] = object): Promise<boolean> {
  return approvalNeeded(call(args), { inputSchema, needsApproval } as AnyTool, { limit: 100 });
}

describe("edited arguments", () => {
  const check = async (inputSchema: unknown, given: unknown): Promise<unknown> => {
    const limit = { ports: world().ports, timeoutMs: 1000 };
    const tools = { pay: { inputSchema } as AnyTool };
    const refused = (error: { readonly code: string; readonly message: string }) => [error.code, error.message];
    return checkEdited({ id: "c", name: "pay" }, given as never, tools, limit).catch(refused);
  };
  const euros = z.object({ euros: z.number(), to: z.object({ account: z.string() }).optional() });
  const plain = { type: "object", properties: { euros: { type: "number" } }, required: ["euros"] };
  const no = (part: string) => ["tool_bad_arguments", expect.stringContaining(part)];

  test("that do not fit are refused with the reasons", async () => {
    expect(await check(euros, { euros: "9" })).toEqual(no("euros: Invalid input: expected number"));
    expect(await check(plain, { euros: "9" })).toEqual(no("euros: must be number"));
    expect(await check(plain, {})).toEqual(no("euros: is missing"));
    expect(await check(plain, { euros: 9, note: "x" })).toEqual({ euros: 9, note: "x" });
  });

  test("have no field that the schema drops", async () => {
    expect(await check(euros, { euros: 9, cents: 5 })).toEqual(no("drops cents"));
    expect(await check(euros, { euros: 9, to: { account: "x", branch: "y" } })).toEqual(no("drops fields within"));
    const renamed = z.object({ euros: z.number() }).transform(({ euros }) => ({ cents: euros * 100 }));
    expect(await check(renamed, { euros: 9 })).toEqual({ euros: 9 });
    expect(await check(z.looseObject({}), { euros: 9 })).toEqual({ euros: 9 });
    expect(await check(z.object({ at: z.coerce.date() }), { at: "2026-01-01" })).toEqual({ at: "2026-01-01" });
  });
});

describe("approval is needed", () => {
  test.each([
    ["never, when nothing is said", undefined, false],
    ["never, when false is said", false, false],
    ["always, when true is said", true, true],
    ["when a function says so", async () => true, true],
    ["not when it says no", async () => false, false],
    [
      "when it throws",
      () => {
        throw new Error("no");
      },
      true,
    ],
    ["when it rejects", () => Promise.reject(new Error("no")), true],
    ["when it says nothing", () => undefined, true],
    ["when it says something else", () => 0, true],
  ])("%s", async (_, needsApproval, needed) => {
    expect(await asked(needsApproval)).toBe(needed);
  });

  test("by what the schema makes of the arguments, the context and the id", async () => {
    const seen: unknown[] = [];
    const needsApproval = (input: { amount: number }, options: { context: { limit: number } }): boolean => {
      seen.push(input, options);
      return input.amount > options.context.limit;
    };
    expect(await asked(needsApproval, { amount: "500" }, amount)).toBe(true);
    expect(await asked(needsApproval, { amount: "50" }, amount)).toBe(false);
    const context = { limit: 100 };
    expect(seen.slice(0, 2)).toEqual([
      { amount: 500 },
      { context, experimental_context: context, toolCallId: "call_1", messages: [] },
    ]);
  });

  test("not where the arguments are refused anyway", async () => {
    expect(await asked(true, { amount: 5 }, amount)).toBe(false);
  });

  test("when the function never answers, or the call was aborted", async () => {
    const { ports, pass, timers } = world();
    const tool: AnyTool = { inputSchema: object, needsApproval: () => never };
    const waiting = approvalNeeded(call(), tool, undefined, { ports });
    const controller = new AbortController();
    const stopped = approvalNeeded(call(), tool, undefined, { ports, signal: controller.signal });
    controller.abort();
    await pass(60_000);
    expect(await Promise.all([waiting, stopped])).toEqual([true, true]);
    expect(timers()).toBe(0);
  });
});
