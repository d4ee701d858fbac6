import { expectTypeOf, test } from "vitest";
import { ContextPolicy } from "../../src/projection/policy/policy.ts";

test("ContextPolicy is both the type and what makes it", () => {
  expectTypeOf(ContextPolicy.create()).toEqualTypeOf<ContextPolicy>();
  expectTypeOf(ContextPolicy.forModel("openai:gpt-5")).toEqualTypeOf<ContextPolicy>();
  expectTypeOf<ContextPolicy["systemPrompt"]>().toEqualTypeOf<string | undefined>();
});

test("a whole policy, a part of one, and parts of its parts are input", () => {
  const policy = ContextPolicy.create();
  expectTypeOf(ContextPolicy.create).toBeCallableWith(policy);
  expectTypeOf(ContextPolicy.create).toBeCallableWith({ ...policy, maxTurns: undefined });
  expectTypeOf(ContextPolicy.create).toBeCallableWith({ window: { step: 0.25 }, toolResults: { keepLast: 1 } });
});

test("misspelt fields, wrong types and assignments are errors", () => {
  // @ts-expect-error no such field
  ContextPolicy.create({ maxToken: 1 });
  // @ts-expect-error not a choice
  ContextPolicy.create({ thinking: "never" });
  // @ts-expect-error a policy is readonly
  const assign = (policy: ContextPolicy) => (policy.maxTurns = 1);
  // @ts-expect-error and so are its parts
  const assignPart = (policy: ContextPolicy) => (policy.window.step = 1);
  expectTypeOf([assign, assignPart]).toBeArray();
});
