import type { ProjectionInput } from "./input/input.ts";
import type { ExplainedEntry, Projection } from "./projection.ts";
import { createProjector } from "./projector.ts";

/**
 * What the model sees of a thread: a pure function of its input. Use `createProjector` where you project one thread again
 * and again.
 *
 * @example
 * const thread = Thread.create().append({ kind: "message", payload: { role: "user", content: "What's 2+2?" } });
 * const { messages, meta } = project({ thread, system: "Be brief." });
 * messages.length; // 2
 * meta.estimatedTokens; // 24
 */
export function project(input: ProjectionInput): Projection {
  return createProjector({ keep: 1 }).project(input);
}

/**
 * Why each entry of a thread is shown or not: the same computation as `project`, told entry by entry. Where `project`
 * refuses because what must be shown does not fit, this tells what would have been shown.
 *
 * @example
 * const thread = Thread.create().append({ kind: "message", payload: { role: "user", content: "What's 2+2?" } });
 * explain({ thread }); // [{ seq: 0, kind: "message", status: "shown", rule: "in_window", tokens: 12, message: 0 }]
 */
export function explain(input: ProjectionInput): ExplainedEntry[] {
  return createProjector({ keep: 1 }).explain(input);
}
