import { defineCommand } from "../command.ts";
import { asJson } from "../decide.ts";
import { DECIDING, decide } from "../deciding.ts";

export const answer = defineCommand({
  args: "<thread> <tool-call> <output>",
  options: DECIDING,
  notes: [
    "For tools without `execute`, whose result comes from outside. <output> is JSON or text; `-` reads it from stdin.",
  ],
  examples: [
    {
      run: `heddle answer last call_1 '{"celsius":4}' --agent agent.ts`,
      does: "continue the request with this result",
    },
  ],
  run: async (call) => {
    const [thread = "", toolCallId, output = ""] = call.args;
    const text = output === "-" ? (await call.io.text()).trim() : output;
    return decide(call, thread, { verdict: "answer", toolCallId, body: { output: asJson(text) } });
  },
});
