import fc from "fast-check";
import { expect, test } from "vitest";
import { PolicyError } from "../../src/projection/error.ts";
import type { ContextPolicyInput } from "../../src/projection/policy/fields.ts";
import { ContextPolicy } from "../../src/projection/policy/policy.ts";
import { expectOften } from "../support/case-budget.ts";

const amount = (max: number) => fc.nat({ max });
const some = <T extends object>(shape: { [Key in keyof T]: fc.Arbitrary<T[Key]> }) =>
  fc.record<T, never>(shape, { requiredKeys: [] });

/** Policies as people write them: mostly possible, with their keys in any order. */
const input: fc.Arbitrary<ContextPolicyInput> = some({
  maxInputTokens: amount(20_000),
  reserveOutputTokens: amount(4000),
  maxMessages: amount(8),
  maxTurns: amount(8),
  keepLastTurns: amount(8),
  summarization: fc.constantFrom("none", "use_existing", "request_new"),
  summaryRole: fc.constantFrom("system", "user"),
  includeKinds: fc.array(fc.constantFrom("message", "tool_call", "note", "a", "Z"), { minLength: 1 }),
  systemPrompt: fc.string({ unit: "grapheme", minLength: 1 }),
  tokenEstimator: fc.constantFrom("heuristic", "exact", "calibrated"),
  window: some({ mode: fc.constantFrom("stable", "sliding"), step: fc.double({ min: 0, max: 1, noNaN: true }) }),
  toolResults: some({ keepLast: amount(9), maxTokens: amount(9) }),
  thinking: fc.constantFrom("auto", "keep", "drop"),
  overflow: fc.constantFrom("error", "shrink"),
  summarizeThreshold: amount(99),
  maxThreadTokens: amount(99),
  autoSummarize: fc.boolean(),
  summarizationModel: fc.constantFrom("openai:gpt-5-mini", "x"),
});

/** Anything at all in any field. */
const wild = fc.dictionary(
  fc.constantFrom(...Object.keys(ContextPolicy.create()), "other", "__proto__"),
  fc.anything(),
);

/** The policy, or undefined where it is refused; anything but a PolicyError fails the test. */
function created(input: unknown): ContextPolicy | undefined {
  try {
    return ContextPolicy.create(input as ContextPolicyInput);
  } catch (error) {
    if (PolicyError.isInstance(error)) return undefined;
    throw error;
  }
}

test("whatever is accepted is possible, complete, frozen and plain JSON, and stays as it is", () => {
  const seen = { cases: 0, accepted: 0 };
  fc.assert(
    fc.property(fc.oneof({ weight: 4, arbitrary: input }, wild), (input) => {
      seen.cases++;
      const policy = created(input);
      if (policy === undefined) return;
      seen.accepted++;
      expect(policy.maxInputTokens - policy.reserveOutputTokens).toBeGreaterThan(0);
      expect(policy.reserveOutputTokens).toBeGreaterThanOrEqual(0);
      for (const ceiling of [policy.maxTurns, policy.maxMessages]) {
        if (ceiling > 0) expect(policy.keepLastTurns).toBeLessThanOrEqual(ceiling);
      }
      expect(policy.window.step).toBeGreaterThan(0);
      expect(policy.window.step).toBeLessThanOrEqual(1);
      expect([policy, policy.window, policy.toolResults, policy.includeKinds].every(Object.isFrozen)).toBe(true);
      expect(policy).toMatchObject({ ...ContextPolicy.create(), ...policy }); // nothing is missing
      const read: ContextPolicyInput = JSON.parse(JSON.stringify(policy));
      expect(ContextPolicy.create(read)).toEqual(policy);
      expect(ContextPolicy.create(policy)).toBe(policy);
    }),
    { numRuns: 500 },
  );
  expectOften(seen.accepted, seen.cases, 0.1);
});

test("equal policies have one canonical text and one hash, whatever the order of the input's keys", () => {
  fc.assert(
    fc.property(input, fc.infiniteStream(fc.nat()), (input, order) => {
      const policy = created(input);
      fc.pre(policy !== undefined);
      const shuffled = Object.fromEntries(
        Object.entries(input)
          .map((field) => ({ field, place: order.next().value ?? 0 }))
          .sort((a, b) => a.place - b.place)
          .map(({ field }) => field),
      );
      expect(JSON.stringify(ContextPolicy.create(shuffled))).toBe(JSON.stringify(policy));
      expect(ContextPolicy.hashOf(shuffled)).toBe(ContextPolicy.hashOf(policy));
    }),
  );
});

test("other policies have other hashes", () => {
  fc.assert(
    fc.property(input, input, (one, other) => {
      const [a, b] = [created(one), created(other)];
      fc.pre(a !== undefined && b !== undefined);
      expect(ContextPolicy.hashOf(a) === ContextPolicy.hashOf(b)).toBe(JSON.stringify(a) === JSON.stringify(b));
    }),
  );
});

test("the hash of the default policy never changes by accident", () => {
  expect(ContextPolicy.hashOf({})).toBe("EQ5Dcf3AeedNeLmO37RoZBK79pn3wgFOTPjHDvqbCo4");
  expect(ContextPolicy.hashOf({ maxMessages: 0, window: { step: 0.5 } })).toBe(ContextPolicy.hashOf({}));
});
