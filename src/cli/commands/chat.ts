import { ASKING, policyAsked } from "../asked.ts";
import { defineCommand } from "../command.ts";
import { AGENT, PLACE } from "../options.ts";
import { Output } from "../output.ts";
import { at } from "../place.ts";
import { Talk } from "../talk.ts";

export const chat = defineCommand({
  args: "",
  options: { ...ASKING, ...PLACE, ...AGENT },
  notes: [
    "At a terminal, a line typed while an answer arrives is sent to the running request. Type /help for the commands.",
    "An empty line, /quit or the end of input leaves. Ctrl-C cancels the answer, or leaves if nothing runs.",
    "In a pipe, each line is asked after the answer to the line before, and nothing is a command.",
  ],
  examples: [
    { run: "heddle chat", does: "start a thread" },
    { run: "heddle chat --thread last", does: "continue the newest thread" },
    {
      run: "heddle chat --json < questions.txt",
      does: "ask each line of the file; print the events as JSON",
    },
  ],
  run: async (call) => {
    const { io, options } = call;
    const contextPolicy = await policyAsked(call);
    return at(call, { creates: true, acts: true }, async (place) => {
      const isTyped = io.stdinIsTerminal && io.stderr.isTerminal && options["no-input"] !== true;
      if (!isTyped) return new Talk({ call, contextPolicy, place }).read(io.lines());
      const keyboard = io.keyboard();
      // Output goes through the keyboard, which holds it back while the user types.
      const typed = {
        ...io,
        stdout: keyboard.stdout,
        stderr: keyboard.stderr,
        ask: (text: string) => keyboard.ask(text),
      };
      try {
        return await new Talk({
          call: { ...call, io: typed, out: new Output(typed, options) },
          contextPolicy,
          place,
        }).typed(keyboard);
      } finally {
        keyboard.close();
      }
    });
  },
});
