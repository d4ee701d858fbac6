import { defineCommand } from "../command.ts";
import { DECIDING, decide } from "../deciding.ts";

export const deny = defineCommand({
  args: "<thread> [tool-call]",
  options: { note: { type: "string", value: "text", help: "recorded with the decision" }, ...DECIDING },
  notes: [
    "The request continues in this process, and its answer is written to stdout. The id of the call is needed only if",
    "several calls wait.",
  ],
  examples: [
    { run: 'heddle deny last --note "not this month"', does: "refuse the waiting call; the model gets a denial" },
  ],
  run: (call) => {
    const [thread = "", toolCallId] = call.args;
    return decide(call, thread, { verdict: "deny", toolCallId, body: { note: call.options.note } });
  },
});
