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
    "At a terminal a line that is typed while an answer comes is said to the request at work: /help there tells more.",
    "An empty line, /quit or the end of input ends the talk; Ctrl-C cancels the answer, or leaves where nothing runs.",
    "In a pipe each line is asked when the one before has been answered, whatever it begins with.",
  ],
  examples: [
    { run: "heddle chat", does: "begins a thread" },
    { run: "heddle chat --thread last", does: "goes on with the newest one" },
    {
      run: "heddle chat --json < questions.txt",
      does: "a line for each question, and each event of the answers as JSON",
    },
  ],
  run: async (call) => {
    const { io, options } = call;
    const contextPolicy = await policyAsked(call);
    return at(call, { creates: true, acts: true }, async (place) => {
      const isTyped = io.stdinIsTerminal && io.stderr.isTerminal && options["no-input"] !== true;
      if (!isTyped) return new Talk({ call, contextPolicy, place }).read(io.lines());
      const keyboard = io.keyboard();
      // What is written goes by way of the keyboard, which knows when somebody types.
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
