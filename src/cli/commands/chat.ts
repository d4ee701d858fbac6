import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import { HeddleError } from "../../thread/errors.ts";
import { CHAT_HELP, parseChatCommand, Steering, unknownCommand } from "../chat-steering.ts";
import { AGENT_OPTIONS, CLIENT_OPTIONS, type CommandCall, defineCommand } from "../command.ts";
import { type Interrupts, interruptible } from "../interrupts.ts";
import { adviceOf, EXIT, type Keyboard } from "../io.ts";
import { Output } from "../output.ts";
import { type StudioClient, withClient } from "../studio-client.ts";
import { ASK_OPTIONS, askInThread, policyOption, threadFor } from "./ask.ts";

export const chat = defineCommand({
  args: "",
  options: { ...ASK_OPTIONS, ...CLIENT_OPTIONS, ...AGENT_OPTIONS },
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
    const contextPolicy = await policyOption(call);
    return withClient(call, { createsStore: true, runsAgent: true }, async (client) => {
      const isTyped = io.stdinIsTerminal && io.stderr.isTerminal && options["no-input"] !== true;
      if (!isTyped) return new Conversation({ call, contextPolicy, client }).readLines(io.lines());
      const keyboard = io.keyboard();
      // Output goes through the keyboard, which delays it while the user types.
      const typed = {
        ...io,
        stdout: keyboard.stdout,
        stderr: keyboard.stderr,
        ask: (text: string) => keyboard.ask(text),
      };
      try {
        return await new Conversation({
          call: { ...call, io: typed, out: new Output(typed, options) },
          contextPolicy,
          client,
        }).readKeyboard(keyboard);
      } finally {
        keyboard.close();
      }
    });
  },
});

interface ConversationOptions {
  readonly call: CommandCall<typeof ASK_OPTIONS & typeof AGENT_OPTIONS>;
  readonly contextPolicy: ContextPolicyInput | undefined;
  readonly client: StudioClient;
}

interface RequestOutcome {
  readonly exit: number;
  readonly isInterrupted: boolean;
  /** Whether the user typed /quit. */
  readonly wantsToLeave: boolean;
  /** Lines that the user typed too late for this request. */
  readonly lateLines: readonly string[];
}

/** A conversation: one request after the other in one thread. */
class Conversation {
  readonly #options: ConversationOptions;
  #threadId: string | undefined;
  #exitCode: number = EXIT.ok;

  constructor(options: ConversationOptions) {
    this.#options = options;
  }

  /** Sends each line as a request, after the answer to the line before. Stops at Ctrl-C, or if a request stays open. */
  async readLines(lines: AsyncIterable<string>): Promise<number> {
    for await (const line of lines) {
      const content = line.trim();
      if (content === "") continue;
      const { exit, isInterrupted } = await this.#askWithCancel(content);
      if (isOpen(exit) || isInterrupted) return exit;
    }
    return this.#finish();
  }

  /** Sends the lines that the user types at a terminal. The user can type while an answer arrives. */
  async readKeyboard(keyboard: Keyboard): Promise<number> {
    const next: string[] = [];
    const { out } = this.#options.call;
    const prompt = out.question(out.paintError("cyan", "> "));
    for (;;) {
      const late = next.shift();
      const content = late ?? (await keyboard.line(prompt))?.trim() ?? "";
      const command = late === undefined ? parseChatCommand(content) : undefined;
      if (content === "" || command?.name === "quit") break;
      if (command !== undefined) {
        await this.#runChatCommand(command.name);
        continue;
      }
      const text = late ?? content.replace(/^\/\//, "/");
      const { exit, isInterrupted, wantsToLeave, lateLines } = await this.#askOrReport(text, keyboard);
      if (isOpen(exit)) return exit;
      if (wantsToLeave) break;
      // Lines that arrived after the request's end are the next requests, unless the request failed or was interrupted.
      if (exit === EXIT.ok && !isInterrupted) next.push(...lateLines);
    }
    if (keyboard.isInterrupted) {
      await this.#finish();
      return EXIT.interrupted;
    }
    return this.#finish();
  }

  async #runChatCommand(command: string): Promise<void> {
    const { out } = this.#options.call;
    if (command === "help") await out.info(CHAT_HELP);
    else if (command === "cancel" || command === "followup") await out.info("Nothing is being answered.");
    else await out.info(unknownCommand(command));
  }

  /** Prints the error of a refused request, and the conversation continues. */
  async #askOrReport(content: string, keyboard: Keyboard): Promise<RequestOutcome> {
    const { out } = this.#options.call;
    try {
      return await this.#askWithCancel(content, keyboard);
    } catch (error) {
      if (!HeddleError.isInstance(error)) throw error;
      await out.error(`${out.paintError("red", "error:")} ${adviceOf(error)}`);
      this.#exitCode = Math.max(this.#exitCode, EXIT.failed);
      return { exit: EXIT.failed, isInterrupted: false, wantsToLeave: false, lateLines: [] };
    }
  }

  #askWithCancel(content: string, keyboard?: Keyboard): Promise<RequestOutcome> {
    return interruptible(this.#options.call, (interrupts) => this.#ask(content, interrupts, keyboard));
  }

  async #ask(content: string, interrupts: Interrupts, keyboard: Keyboard | undefined): Promise<RequestOutcome> {
    const { call, contextPolicy, client } = this.#options;
    const isNew = this.#threadId === undefined && call.options.thread === undefined;
    const threadId = this.#threadId ?? (await threadFor({ call, contextPolicy, client, interrupts }));
    const steering = keyboard && new Steering({ out: call.out, client, threadId, interrupts });
    const off = steering && keyboard.listen((line) => steering.handleLine(line));
    let lateLines: readonly string[] = [];
    let exit: number;
    try {
      exit = await askInThread({ call, contextPolicy, client, interrupts, steering }, { threadId, isNew }, content);
      this.#threadId = threadId; // not reached when the first ask was refused: it threw, and its thread was deleted
    } finally {
      off?.();
      lateLines = (await steering?.ended()) ?? [];
    }
    const isInterrupted = interrupts.isInterrupted;
    if (!isInterrupted) this.#exitCode = Math.max(this.#exitCode, exit);
    return { exit, isInterrupted, wantsToLeave: steering?.wantsToLeave === true, lateLines };
  }

  async #finish(): Promise<number> {
    const { out } = this.#options.call;
    if (this.#threadId !== undefined) await out.info(out.paintError("dim", `thread ${this.#threadId}`));
    return this.#exitCode;
  }
}

/** Whether the request waits or is suspended. It is still open, so the thread accepts no other request. */
function isOpen(exit: number): boolean {
  return exit === EXIT.refused || exit === EXIT.suspended;
}
