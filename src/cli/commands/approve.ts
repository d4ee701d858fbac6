import { defineCommand } from "../command.ts";
import { DECIDING, decide } from "../deciding.ts";

export const approve = defineCommand({
  args: "<thread> [tool-call]",
  options: { note: { type: "string", value: "text", help: "recorded with the decision" }, ...DECIDING },
  notes: [
    "The request continues in this process, and its answer is written to stdout. The id of the call is needed only if",
    "several calls wait.",
  ],
  examples: [
    { run: 'heddle approve last --note "within the budget"', does: "run the waiting call of the newest thread" },
  ],
  run: (call) => {
    const [thread = "", toolCallId] = call.args;
    return decide(call, thread, { verdict: "approve", toolCallId, body: { note: call.options.note } });
  },
});
