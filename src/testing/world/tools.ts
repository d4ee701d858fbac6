import { jsonSchema } from "../../agent/definition/schema.ts";
import type { AnyTool, ToolOptions } from "../../agent/definition/tool.ts";
import { ToolError } from "../../agent/definition/tool-error.ts";
import type { RuntimePorts } from "../../runtime/ports.ts";
import type { Random } from "../random.ts";

type Input = { readonly serial: number };

/** The tools of a simulation. */
export const TOOL_NAMES = ["look", "pay", "send", "sign", "ask_user", "slow", "broken", "odd"] as const;

/** Tools that may run twice. */
export const REPEATABLE: ReadonlySet<string> = new Set(["look"]);
/** Tools that need approval for each call. */
export const APPROVED: ReadonlySet<string> = new Set(["send"]);
export const CLIENT: ReadonlySet<string> = new Set(["ask_user"]);

export interface ToolWorld {
  readonly random: Random;
  readonly after: RuntimePorts["after"];
  readonly isAlive: () => boolean;
  /** Records a run of a tool. */
  readonly ran: (tool: string, serial: number) => void;
}

/** Typical tools. Each has its effect at once and returns later. */
export function generatedTools(world: ToolWorld): { readonly [name: string]: AnyTool } {
  const tool = (name: string, answer: (given: Given) => unknown, more: Partial<AnyTool> = {}): AnyTool => ({
    inputSchema: INPUT,
    execute: async ({ serial }: Input, { abortSignal }: ToolOptions) => {
      if (!world.isAlive()) return new Promise(() => undefined); // a dead process runs nothing
      world.ran(name, serial);
      if (world.random.oneIn(3)) await pause(world, world.random.below(400));
      return answer({ serial, abortSignal });
    },
    ...more,
  });
  return {
    look: tool("look", ({ serial }) => ({ seen: serial }), { repeatable: true }),
    pay: tool("pay", ({ serial }) => `paid ${serial}`),
    send: tool("send", ({ serial }) => ["sent", serial], { needsApproval: true }),
    sign: tool("sign", () => null, { needsApproval: ({ serial }: Input) => serial % 2 === 1 }),
    ask_user: { inputSchema: INPUT },
    slow: tool("slow", async ({ abortSignal }) => {
      await pause(world, world.random.pick([100, 900, 5_000]), abortSignal);
      return "at last ".repeat(world.random.pick([1, 1, 400]));
    }),
    broken: tool("broken", ({ serial }) => {
      if (serial % 2 === 0) throw new ToolError({ message: "Too many at once.", retryable: true, retryAfterMs: 50 });
      throw new Error("secret words of a driver");
    }),
    odd: tool("odd", () => world.random.pick(ODD)()),
  };
}

interface Given extends Input {
  readonly abortSignal: AbortSignal;
}

const INPUT = jsonSchema<Input>(
  { type: "object", properties: { serial: { type: "number" } }, required: ["serial"] },
  {
    validate: (value) => {
      const { serial } = Object(value) as Partial<Input>;
      if (typeof serial === "number") return { success: true, value: { serial } };
      return { success: false, error: new Error("serial must be a number") };
    },
  },
);

/** Results that are not JSON, or unusual JSON. */
const ODD: readonly [() => unknown, ...(() => unknown)[]] = [
  () => undefined,
  () => new Date(0),
  () => () => 1,
  () => 10n,
  () => Number.NaN,
  () => ({ when: undefined, set: new Set([1]) }),
  () => "\ud800 half an emoji",
  () => {
    const loop: { self?: object } = {};
    loop.self = loop;
    return loop;
  },
];

function pause({ after }: ToolWorld, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = after(ms, resolve);
    signal?.addEventListener("abort", () => {
      cancel();
      reject(signal.reason);
    });
  });
}
