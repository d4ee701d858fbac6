import type { ContextOperation } from "../../agent/operation.ts";
import type { OperationAnswer } from "../session/operation-answer.ts";
import type { LiveThread } from "./live-thread.ts";

/** Answers what comes of an operation: applied, deferred while a request runs, or known already. */
export async function modify(
  live: LiveThread,
  given: Partial<ContextOperation> & Pick<ContextOperation, "operation">,
): Promise<OperationAnswer> {
  const { agent, scene, options } = live;
  const { operations } = scene;
  const { opId = options.ports.ids("op"), contextRef = agent.state.activeContextRef } = given;
  const isWaited = operations.has(opId);
  const settled = operations.wait(opId);
  try {
    const operation = { ...given, opId, contextRef };
    const { before, after, directives } = await live.submit({ type: "context_op", operation });
    if (directives.some(({ type }) => type === "keep_context_op")) return { opId, status: "deferred", settled };
    if (after.flight.contextOp?.opId === opId) return { opId, status: "duplicate", settled }; // it waits already
    operations.settle(opId, { status: "applied" });
    return { opId, status: after.thread.rev > before.thread.rev ? "applied" : "duplicate", settled };
  } catch (error) {
    if (!isWaited) operations.settle(opId, { status: "failed", error });
    throw error;
  }
}
