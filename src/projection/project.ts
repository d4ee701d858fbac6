import type { ProjectionInput } from "./input/input.ts";
import type { ExplainedEntry, Projection } from "./projection.ts";
import { createProjector } from "./projector.ts";

/**
 * The context that the model is shown of a thread: a pure function of its input. Use `createProjector` to project one
 * thread repeatedly.
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
 * Says for each entry of a thread whether it is shown, and why: the same computation as `project`. Where `project` throws
 * because the newest block does not fit, this returns what would have been shown.
 *
 * @example
 * const thread = Thread.create().append({ kind: "message", payload: { role: "user", content: "What's 2+2?" } });
 * explain({ thread }); // [{ seq: 0, kind: "message", status: "shown", rule: "in_window", tokens: 12, message: 0 }]
 */
export function explain(input: ProjectionInput): ExplainedEntry[] {
  return createProjector({ keep: 1 }).explain(input);
}
