import type { Failure } from "../failure.ts";
import type { Params } from "./params.ts";

/** Asks for one action. */
export interface Instruction {
  readonly type: "instruction";
  readonly action: string;
  readonly params?: Params | undefined;
  /** Default a fresh one. */
  readonly instructionId?: string | undefined;
}

/** What became of an action. Its result is for whoever ran it; the log never has it. */
export interface InstructionResult {
  readonly type: "instruction_result";
  readonly instructionId: string;
  readonly status: "ok" | "error";
}

/** Everything that can happen to a Direct agent. What is not expected is ignored. */
export type DirectSignal = Instruction | InstructionResult;

/** What is to be done: nothing but to run an action, or to say why not. */
export type DirectDirective =
  | {
      readonly type: "run_action";
      readonly action: string;
      readonly params: Params;
      readonly instructionId: string;
    }
  /** The instruction was refused, and the thread is as it was. */
  | { readonly type: "emit_instruction_error"; readonly instructionId: string; readonly failure: Failure };
