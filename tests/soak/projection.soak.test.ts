import fc from "fast-check";
import { createProjector, memoryStore, project } from "heddle";
import { validateMessages } from "heddle/providers";
import { expect, test } from "vitest";
import { naiveProject } from "../projection/support/oracle/naive.ts";
import { outcome } from "../projection/support/outcome.ts";
import { anyGarbageInput, anyInput } from "../projection/support/threads.ts";
import { again } from "./duration.ts";

const PROVIDERS = ["openai-chat", "openai-responses", "anthropic", "gemini"] as const;

/** Another seed each round: the one of the run would only repeat itself. */
const runs = (round: number) => ({ numRuns: 500, seed: (Date.now() + round * 7919) | 0 });

test("a projection is what the obvious, slow implementation of the rules gives", async () => {
  await again(async (round) => {
    const sound = fc.property(fc.oneof(anyInput, anyGarbageInput), (input) => {
      expect(outcome(() => project(input))).toEqual(outcome(() => naiveProject(input)));
    });
    fc.assert(sound, runs(round));
  });
});

test("no provider refuses what is shown, and it is never over the budget", async () => {
  await again(async (round) => {
    const sound = fc.property(anyInput, (input) => {
      const { value } = { value: undefined, ...outcome(() => project(input)) };
      if (value === undefined || !value.meta.open) return;
      const { maxInputTokens, reserveOutputTokens } = value.meta.budget;
      expect(value.meta.estimatedTokens).toBeLessThanOrEqual(maxInputTokens - reserveOutputTokens);
      for (const provider of PROVIDERS) expect(validateMessages(value.messages, provider)).toEqual([]);
    });
    fc.assert(sound, runs(round));
  });
});

test("a tail that is long enough, whichever, gives what the whole thread gives", async () => {
  await again(async (round) => {
    const sound = fc.asyncProperty(anyInput, async (input) => {
      const store = memoryStore();
      await store.save(input.thread);
      const whole = outcome(() => project(input));
      for (let last = 1; last <= input.thread.rev; last++) {
        const thread = await store.load(input.thread.id, { last });
        if (thread === undefined) throw new Error("it was saved");
        const tail = outcome(() => project({ ...input, thread }));
        if (!("refused" in tail && tail.refused === "tail_too_short")) expect(tail).toEqual(whole);
      }
    });
    await fc.assert(sound, runs(round));
  });
});

test("a projector that saw a thread grow, with and without what is pending, answers as one that never saw it", async () => {
  await again(async (round) => {
    const sound = fc.property(anyInput, (input) => {
      const projector = createProjector();
      for (let seq = -1; seq <= input.thread.lastSeq; seq++) {
        for (const pending of [undefined, "hi", input.pending, undefined]) {
          const grown = { ...input, pending, thread: input.thread.upTo(seq) };
          expect(outcome(() => projector.project(grown))).toEqual(outcome(() => project(grown)));
        }
      }
    });
    fc.assert(sound, runs(round));
  });
});
