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
    "The answer is written to stdout as it comes; which tools are called, to stderr. Without text, stdin is asked.",
    "A call that needs approval is asked about in a terminal; elsewhere the command ends with 4 and says how to go on.",
    "Ctrl-C cancels the request and keeps what was said; a second one leaves at once.",
  ],
  examples: [
    { run: 'heddle ask "What is (17 + 25) * 3?"', does: "begins a thread" },
    { run: 'heddle ask --thread last "And times 3?"', does: "goes on with the newest thread" },
    { run: 'heddle ask --json --policy short "Compare the weather in Oslo and Cairo."', does: "one event a line" },
  ],
  run: async (call) => {
    const content = await contentGiven(call.io, call.args);
    const contextPolicy = await policyAsked(call);
    return interruptible(call, (interrupts) =>
      at(call, { creates: true, acts: true }, (place) => asked({ call, contextPolicy, place, interrupts }, content)),
    );
  },
});
