import { expectTypeOf, test } from "vitest";
import type { TokenConfig } from "../../src/checkpoint/config.ts";
import type { ResumeState } from "../../src/checkpoint/payload.ts";

const run = { runId: "run_1", requestId: "req_1", phase: "terminal" } as const;
const threadRef = { threadId: "thread_1", rev: 1 };
const fromEnvironment = undefined as string | undefined;

test("a state carries a context, or refers to a thread, or both; not neither", () => {
  expectTypeOf({ ...run, context: {} }).toExtend<ResumeState>();
  expectTypeOf({ ...run, threadRef }).toExtend<ResumeState>();
  expectTypeOf({ ...run, context: null, threadRef }).toExtend<ResumeState>();
  expectTypeOf(run).not.toExtend<ResumeState>();
});

test("a config has a secret, or a function to warn", () => {
  const warn = (_message: string) => {};
  expectTypeOf({ tokenSecret: ["a", "b"] }).toExtend<TokenConfig>();
  expectTypeOf({ tokenSecret: fromEnvironment, warn }).toExtend<TokenConfig>();
  expectTypeOf({ warn }).toExtend<TokenConfig>();
  expectTypeOf({ tokenSecret: fromEnvironment }).not.toExtend<TokenConfig>();
  expectTypeOf({ tokenBind: "acme" }).not.toExtend<TokenConfig>();
});
