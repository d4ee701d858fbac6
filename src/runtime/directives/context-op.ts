import type { Directive } from "../../agent/directive.ts";
import type { ReactAgent } from "../../agent/react/agent.ts";
import { ContextOpError } from "../../lanes/context-operation.ts";
import type { Scene } from "./scene.ts";

/** Survives a crash from here on; whoever asked for the one before is told that it never comes. */
export async function keepContextOp(
  { kept, operations }: Scene,
  { operation, superseded }: Extract<Directive, { type: "keep_context_op" }>,
): Promise<void> {
  await kept.keep(operation);
  if (superseded !== undefined) operations.settle(superseded, { status: "superseded" });
}

/** The run is over: whoever waits is told. What did not land with its end gets its turn before anything else is asked. */
export function applyContextOp(
  scene: Scene,
  { operation }: Extract<Directive, { type: "apply_context_op" }>,
  { thread }: ReactAgent,
): void {
  const { opId } = operation;
  const { kept, operations } = scene;
  if (thread.filterByKind("ai_context_operation", { partial: true }).some(({ payload }) => payload.opId === opId)) {
    operations.settle(opId, { status: "applied" });
    scene.track(kept.forget(opId).catch(() => undefined)); // whoever starts next finds it in the log, and forgets it
    return;
  }
  scene.sendNext({ type: "context_op", operation }, async (error) => {
    // What the store could not take it may take later: the operation stays kept.
    if (error !== undefined && !ContextOpError.isInstance(error)) return;
    await kept.forget(opId);
    operations.settle(opId, error === undefined ? { status: "applied" } : { status: "failed", error });
  });
}
