import { ContextOpError } from "../../lanes/context-operation.ts";
import type { Scene } from "../directives/scene.ts";
import type { Session } from "../session/session.ts";

/** Takes up the operation that waited for a run to end when the process ended, or when its store failed. */
export async function takeUpOperation(
  { kept, operations, threadId }: Scene,
  session: Session,
  warn: (message: string) => void,
): Promise<void> {
  const operation = await kept.operation();
  if (operation === undefined) return;
  const { opId } = operation;
  try {
    await session.submit({ type: "context_op", operation });
  } catch (error) {
    if (!ContextOpError.isInstance(error)) throw error;
    await kept.forget(opId);
    operations.settle(opId, { status: "failed", error });
    warn(`Thread ${threadId}: the operation ${opId} had waited and cannot be applied: ${error.message}`);
    return;
  }
  if (session.agent.state.run !== undefined) return; // it waits on
  await kept.forget(opId);
  operations.settle(opId, { status: "applied" });
}
