import type { Message } from "../thread/message.ts";
import type { ProjectionInput } from "./input/input.ts";
import { project } from "./project.ts";
import type { Projection, Segment } from "./projection.ts";

/** The messages of one part of a context. */
function segmentOf({ messages, provenance }: Projection, segment: Segment): readonly Message[] {
  return messages.filter((_, index) => provenance[index]?.segment === segment);
}

/**
 * The four parts of a context, each a list of messages. In their order, they form the context.
 *
 * @example
 * const thread = Thread.create().append({ kind: "message", payload: { role: "user", content: "What's 2+2?" } });
 * const input = { thread, system: "Be brief." };
 * concat(segments.system(input), segments.summary(input), segments.history(input), segments.pending(input)).length; // 2
 */
export const segments = Object.freeze({
  system: (input: ProjectionInput) => segmentOf(project(input), "system"),
  summary: (input: ProjectionInput) => segmentOf(project(input), "summary"),
  history: (input: ProjectionInput) => segmentOf(project(input), "history"),
  pending: (input: ProjectionInput) => segmentOf(project(input), "pending"),
});

/** Joins lists of messages. */
export function concat(...lists: readonly (readonly Message[])[]): readonly Message[] {
  return lists.flat();
}
