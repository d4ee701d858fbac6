import type { ContextPolicyInput } from "../projection/policy/fields.ts";
import { HeddleError } from "../thread/errors.ts";
import { adviceOf } from "./advice.ts";
import { type ASKING, askIn, threadFor } from "./asked.ts";
import type { Call } from "./command.ts";
import { EXIT } from "./exit.ts";
import { type Interrupts, interruptible } from "./interrupts.ts";
import type { Keyboard } from "./io.ts";
import type { Place } from "./place.ts";
import { CHAT_HELP, commandIn, Steering, unknownCommand } from "./steering.ts";

interface Options {
  readonly call: Call<typeof ASKING>;
  readonly contextPolicy: ContextPolicyInput | undefined;
  readonly place: Place;
}

interface Answered {
  readonly exit: number;
  readonly isInterrupted: boolean;
  readonly isLeft: boolean;
  /** Lines that the user typed too late for this request. */
  readonly unsaid: readonly string[];
}

/** A conversation: one request after the other in one thread. */
export class Talk {
  readonly #options: Options;
  #threadId: string | undefined;
  #worst: number = EXIT.ok;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Asks each line after the answer to the line before. Stops at an interrupt, or when a request stays open. */
  async read(lines: AsyncIterable<string>): Promise<number> {
    for await (const line of lines) {
      const content = line.trim();
      if (content === "") continue;
      const { exit, isInterrupted } = await this.#answered(content);
      if (isOpen(exit) || isInterrupted) return exit;
    }
    return this.#ended();
  }

  /** Asks what the user types at a terminal. The user can type while an answer arrives. */
  async typed(keyboard: Keyboard): Promise<number> {
    const next: string[] = [];
    const prompt = this.#options.call.out.talk("cyan", "> ");
    for (;;) {
      const late = next.shift();
      const content = late ?? (await keyboard.line(prompt))?.trim() ?? "";
      const command = late === undefined ? commandIn(content) : undefined;
      if (content === "" || command?.name === "quit") break;
      if (command !== undefined) {
        await this.#told(command.name);
        continue;
      }
      const text = late ?? content.replace(/^\/\//, "/");
      const { exit, isInterrupted, isLeft, unsaid } = await this.#tried(text, keyboard);
      if (isOpen(exit)) return exit;
      if (isLeft) break;
      // Lines that came too late are asked next, unless the request failed or was interrupted.
      if (exit === EXIT.ok && !isInterrupted) next.push(...unsaid);
    }
    if (keyboard.isInterrupted) {
      await this.#ended();
      return EXIT.interrupted;
    }
    return this.#ended();
  }

  async #told(command: string): Promise<void> {
    const { out } = this.#options.call;
    if (command === "help") await out.say(CHAT_HELP);
    else if (command === "cancel" || command === "followup") await out.say("Nothing is being answered.");
    else await out.say(unknownCommand(command));
  }

  /** Prints the error of a refused request; the conversation continues. */
  async #tried(content: string, keyboard: Keyboard): Promise<Answered> {
    const { out } = this.#options.call;
    try {
      return await this.#answered(content, keyboard);
    } catch (error) {
      if (!HeddleError.isInstance(error)) throw error;
      await out.error(`${out.talk("red", "error:")} ${adviceOf(error)}`);
      this.#worst = Math.max(this.#worst, EXIT.failed);
      return { exit: EXIT.failed, isInterrupted: false, isLeft: false, unsaid: [] };
    }
  }

  #answered(content: string, keyboard?: Keyboard): Promise<Answered> {
    return interruptible(this.#options.call, (interrupts) => this.#asked(content, interrupts, keyboard));
  }

  async #asked(content: string, interrupts: Interrupts, keyboard: Keyboard | undefined): Promise<Answered> {
    const { call, contextPolicy, place } = this.#options;
    const isNew = this.#threadId === undefined && call.options.thread === undefined;
    const threadId = this.#threadId ?? (await threadFor({ call, contextPolicy, place, interrupts }));
    const steering = keyboard && new Steering({ out: call.out, place, threadId, interrupts });
    const off = steering && keyboard.listen((line) => steering.typed(line));
    let unsaid: readonly string[] = [];
    let exit: number;
    try {
      exit = await askIn({ call, contextPolicy, place, interrupts, steering }, { threadId, isNew }, content);
      this.#threadId = threadId; // not set if this is refused: the new thread was deleted
    } finally {
      off?.();
      unsaid = (await steering?.ended()) ?? [];
    }
    const isInterrupted = interrupts.isAsked;
    if (!isInterrupted) this.#worst = Math.max(this.#worst, exit);
    return { exit, isInterrupted, isLeft: steering?.isLeft === true, unsaid };
  }

  async #ended(): Promise<number> {
    const { out } = this.#options.call;
    if (this.#threadId !== undefined) await out.say(out.talk("dim", `thread ${this.#threadId}`));
    return this.#worst;
  }
}

/** Whether the request waits or is suspended. It is still open, so nothing else can be asked. */
function isOpen(exit: number): boolean {
  return exit === EXIT.refused || exit === EXIT.suspended;
}
