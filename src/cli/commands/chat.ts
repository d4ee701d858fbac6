import { ASKING, askIn, policyAsked, threadFor } from "../asked.ts";
import { defineCommand } from "../command.ts";
import { EXIT } from "../exit.ts";
import { interruptible } from "../interrupts.ts";
import type { Io } from "../io.ts";
import { AGENT, PLACE } from "../options.ts";
import { at } from "../place.ts";

export const chat = defineCommand({
  args: "",
  options: { ...ASKING, ...PLACE, ...AGENT },
  notes: [
    "Each line is asked when the one before has been answered; an empty line or the end of input ends the talk.",
    "Ctrl-C cancels the answer; a second one, or one where nothing runs, leaves.",
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
    const { io, out, options } = call;
    const isTerminal = io.stdinIsTerminal && options["no-input"] !== true;
    const contextPolicy = await policyAsked(call);
    return at(call, { creates: true, acts: true }, async (place) => {
      let threadId: string | undefined;
      let worst: number = EXIT.ok;
      for await (const line of isTerminal ? typed(io, out.talk("cyan", "> ")) : io.lines()) {
        const content = line.trim();
        if (content === "" && isTerminal) break;
        if (content === "") continue;
        const [exit, isInterrupted] = await interruptible(call, async (interrupts) => {
          threadId ??= await threadFor({ call, contextPolicy, place, interrupts });
          const named = { ...call, options: { ...options, thread: threadId } };
          return [
            await askIn({ call: named, contextPolicy, place, interrupts }, threadId, content),
            interrupts.isAsked,
          ] as const;
        });
        if (exit === EXIT.refused || (isInterrupted && !isTerminal)) return exit;
        if (!isInterrupted) worst = Math.max(worst, exit);
      }
      if (threadId !== undefined) await out.say(out.talk("dim", `thread ${threadId}`));
      return worst;
    });
  },
});

async function* typed(io: Io, prompt: string): AsyncGenerator<string, void> {
  for (let line = await io.ask(prompt); line !== undefined; line = await io.ask(prompt)) yield line;
}
