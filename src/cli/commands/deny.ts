import { defineCommand } from "../command.ts";
import { DECIDING, decide } from "../deciding.ts";

export const deny = defineCommand({
  args: "<thread> [tool-call]",
  options: { note: { type: "string", value: "text", help: "kept with the decision" }, ...DECIDING },
  notes: [
    "The request goes on here, and its answer is written to stdout. Without the id of a call, the one that waits is meant.",
  ],
  examples: [{ run: 'heddle deny last --note "not this month"', does: "the model is told that it may not" }],
  run: (call) => {
    const [thread = "", toolCallId] = call.args;
    return decide(call, thread, { verdict: "deny", toolCallId, body: { note: call.options.note } });
  },
});
