import { defineCommand } from "../command.ts";
import { DECIDING, decide } from "../deciding.ts";

export const approve = defineCommand({
  args: "<thread> [tool-call]",
  options: { note: { type: "string", value: "text", help: "kept with the decision" }, ...DECIDING },
  notes: [
    "The request goes on here, and its answer is written to stdout. Without the id of a call, the one that waits is meant.",
  ],
  examples: [
    { run: 'heddle approve last --note "within the budget"', does: "the call that waits in the newest thread runs" },
  ],
  run: (call) => {
    const [thread = "", toolCallId] = call.args;
    return decide(call, thread, { verdict: "approve", toolCallId, body: { note: call.options.note } });
  },
});
