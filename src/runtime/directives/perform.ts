import type { Directive } from "../../agent/directive.ts";
import type { ReactAgent } from "../../agent/react/agent.ts";
import { awaited } from "./awaited.ts";
import { checkpoint } from "./checkpoint.ts";
import { applyContextOp, keepContextOp } from "./context-op.ts";
import { emit } from "./emit.ts";
import { llmStream } from "./llm-stream.ts";
import { receipt } from "./receipt.ts";
import type { Scene } from "./scene.ts";
import { schedule } from "./schedule.ts";
import { stop } from "./stop.ts";
import { summarize } from "./summarize.ts";
import { toolExec } from "./tool-exec.ts";

/** Performs one directive. What takes time is begun, and its outcome comes back as a signal. */
export async function perform(scene: Scene, directive: Directive, after: ReactAgent): Promise<void> {
  switch (directive.type) {
    case "llm_stream":
      return llmStream(scene, directive);
    case "tool_exec":
      return toolExec(scene, directive);
    case "summarize":
      return summarize(scene, directive);
    case "emit":
      return emit(scene, directive);
    case "checkpoint":
      return checkpoint(scene, directive, after);
    case "receipt":
      return receipt(scene, directive, after);
    case "keep_context_op":
      return keepContextOp(scene, directive);
    case "apply_context_op":
      return applyContextOp(scene, directive, after);
    case "schedule":
      return schedule(scene, directive);
    case "abort":
      return scene.request(directive.requestId)?.abort.abort(new Error(directive.reason));
    case "stop":
      return stop(scene, directive, after);
    case "await_approval":
      return awaited(scene, directive, "approval_requested");
    case "await_answer":
      return awaited(scene, directive, "answer_requested");
    case "emit_request_error":
      return; // whoever asked reads it from the outcome
    default:
      return directive satisfies never;
  }
}
