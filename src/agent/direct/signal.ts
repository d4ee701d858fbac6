import type { Failure } from "../failure.ts";
import type { Params } from "./params.ts";

/** Runs one action. */
export interface Instruction {
  readonly type: "instruction";
  readonly action: string;
  readonly params?: Params | undefined;
  /** Default: a generated id. */
  readonly instructionId?: string | undefined;
}

/** Whether an action succeeded. Its result goes to the caller only and is never logged. */
export interface InstructionResult {
  readonly type: "instruction_result";
  readonly instructionId: string;
  readonly status: "ok" | "error";
}

/** An input of a Direct agent. The agent ignores a signal that it does not expect. */
export type DirectSignal = Instruction | InstructionResult;

/** An effect for the runtime: run an action, or report a refusal. */
export type DirectDirective =
  | {
      readonly type: "run_action";
      readonly action: string;
      readonly params: Params;
      readonly instructionId: string;
    }
  /** The instruction was refused. The thread is unchanged. */
  | { readonly type: "emit_instruction_error"; readonly instructionId: string; readonly failure: Failure };
