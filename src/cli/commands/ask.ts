import { ASKING, asked, policyAsked } from "../asked.ts";
import { defineCommand } from "../command.ts";
import { contentGiven } from "../given.ts";
import { interruptible } from "../interrupts.ts";
import { AGENT, PLACE } from "../options.ts";
import { at } from "../place.ts";

export const ask = defineCommand({
  args: "[text...]",
  options: { ...ASKING, ...PLACE, ...AGENT },
  notes: [
    "The answer is written to stdout as it arrives, the tool calls to stderr. Without text, stdin is the question.",
    "At a terminal you are asked to approve a tool call that needs it. Elsewhere the command exits with 4 and says what to do.",
    "Ctrl-C cancels the request and keeps the answer so far; a second one exits at once.",
  ],
  examples: [
    { run: 'heddle ask "What is (17 + 25) * 3?"', does: "start a thread" },
    { run: 'heddle ask --thread last "And times 3?"', does: "continue the newest thread" },
    {
      run: 'heddle ask --json --policy short "Compare the weather in Oslo and Cairo."',
      does: "print one event per line",
    },
  ],
  run: async (call) => {
    const content = await contentGiven(call.io, call.args);
    const contextPolicy = await policyAsked(call);
    return interruptible(call, (interrupts) =>
      at(call, { creates: true, acts: true }, (place) => asked({ call, contextPolicy, place, interrupts }, content)),
    );
  },
});
