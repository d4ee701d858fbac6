/** What is new of an answer. `id` tells the blocks of one answer apart; a tool's input comes as JSON text. */
export type ModelDelta =
  | { readonly type: "text" | "thinking"; readonly id: string; readonly text: string }
  | {
      readonly type: "tool_input";
      readonly id: string;
      readonly text: string;
      readonly toolCallId: string;
      readonly toolName: string;
    };
