import type { Directive } from "../../agent/directive.ts";
import { ContextOpError } from "../../lanes/context-op-error.ts";
import type { Scene } from "./scene.ts";

/** Survives a crash from here on; whoever asked for the one before is told that it never comes. */
export async function keepContextOp(
  { kept, operations }: Scene,
  { operation, superseded }: Extract<Directive, { type: "keep_context_op" }>,
): Promise<void> {
  await kept.keep(operation);
  if (superseded !== undefined) operations.settle(superseded, { status: "superseded" });
}

/** The run is over; before anything else is asked, the operation gets its turn. */
export function applyContextOp(scene: Scene, { operation }: Extract<Directive, { type: "apply_context_op" }>): void {
  const { opId } = operation;
  scene.sendNext({ type: "context_op", operation }, async (error) => {
    // What the store could not take it may take later: the operation stays kept.
    if (error !== undefined && !ContextOpError.isInstance(error)) return;
    await scene.kept.forget(opId);
    scene.operations.settle(opId, error === undefined ? { status: "applied" } : { status: "failed", error });
  });
}
