import type { AgentEvent } from "../agent/event.ts";
import type { Interrupts } from "./interrupts.ts";
import type { Output } from "./output.ts";
import type { Place } from "./place.ts";
import { reasonTold, steerAt } from "./steer-at.ts";
import { line } from "./text.ts";

interface Options {
  readonly out: Output;
  readonly place: Place;
  readonly threadId: string;
  readonly interrupts: Interrupts;
}

export const CHAT_HELP = [
  "While the agent answers, each line you type is sent to it before its next model call.",
  "  /followup <text>  send the text when the answer is done",
  "  /cancel           cancel the answer, as Ctrl-C does",
  "  /quit             cancel the answer and leave",
  "  //text            send /text; it is not a command",
].join("\n");

/** Handles the lines that the user types while a request runs: text for the request, or a command. */
export class Steering {
  readonly #options: Options;
  readonly #began = Promise.withResolvers<string>();
  readonly #open = new Map<string, string>();
  /** Ids of texts whose delivery event came before the answer to their sending. */
  readonly #heard = new Set<string>();
  #saying: Promise<void> = Promise.resolve();
  readonly #unsaid: string[] = [];
  #isOver = false;
  #isLeft = false;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Whether the user wants to leave when the request ends. */
  get isLeft(): boolean {
    return this.#isLeft;
  }

  began(requestId: string): void {
    this.#began.resolve(requestId);
  }

  /** Handles lines one after the other. */
  typed(text: string): void {
    this.#saying = this.#saying.then(() => this.#said(text.trim())).catch((error: unknown) => this.#failed(error));
  }

  async event(event: AgentEvent): Promise<void> {
    if (event.kind !== "input_injected") return;
    const { id } = event.data;
    const text = this.#open.get(id);
    if (text === undefined) this.#heard.add(id);
    else await this.#delivered(id, text);
  }

  /** Called when the request has ended. Returns the texts that were not delivered. */
  async ended(): Promise<readonly string[]> {
    this.#isOver = true;
    this.#began.resolve("");
    await this.#saying;
    for (const text of this.#open.values()) await this.#late(text);
    this.#open.clear();
    return this.#unsaid;
  }

  async #said(text: string): Promise<void> {
    const { out } = this.#options;
    const command = commandIn(text);
    switch (command?.name) {
      case "help":
        return out.say(CHAT_HELP);
      case "quit":
        this.#isLeft = true;
        return this.#cancelled();
      case "cancel":
        return this.#cancelled();
      case "followup":
        return this.#words(command.rest, "follow_up");
      case undefined:
        return this.#words(text.startsWith("//") ? text.slice(1) : text, "steer");
      default:
        return out.say(unknownCommand(command?.name ?? ""));
    }
  }

  async #words(content: string, kind: "steer" | "follow_up"): Promise<void> {
    if (content === "") return;
    const { place, threadId } = this.#options;
    const requestId = await this.#began.promise;
    if (this.#isOver) return this.#late(content);
    const { id, accepted, reason } = await steerAt(place, threadId, { content, kind, requestId });
    if (!accepted && reason === "idle") return this.#late(content);
    if (!accepted) return this.#told("yellow", "not delivered", `${reasonTold(reason)}: ${line(content, 60)}`);
    if (this.#heard.delete(id)) return this.#delivered(id, content);
    this.#open.set(id, content);
  }

  #late(content: string): Promise<void> {
    this.#unsaid.push(content);
    return this.#told("yellow", "not delivered", `the request ended first: ${line(content, 60)}`);
  }

  #delivered(id: string, text: string): Promise<void> {
    this.#open.delete(id);
    return this.#told("dim", "delivered", line(text, 60));
  }

  async #cancelled(): Promise<void> {
    await this.#began.promise;
    if (!this.#isOver) this.#options.interrupts.cancel();
  }

  #told(style: "dim" | "yellow", what: string, more: string): Promise<void> {
    const { out } = this.#options;
    return out.say(style === "dim" ? out.talk("dim", `${what}: ${more}`) : `${out.talk(style, `${what}:`)} ${more}`);
  }

  #failed(error: unknown): Promise<void> {
    const message = error instanceof Error ? error.message : "the reason is unknown";
    return this.#told("yellow", "not delivered", message);
  }
}

interface Typed {
  readonly name: string;
  readonly rest: string;
}

/** Parses `/name rest`. Two slashes are no command: the text begins with one. */
export function commandIn(text: string): Typed | undefined {
  const match = /^\/([a-z]*)(?:\s+([\s\S]*))?$/.exec(text);
  return match === null ? undefined : { name: match[1] ?? "", rest: (match[2] ?? "").trim() };
}

export function unknownCommand(name: string): string {
  return `There is no /${name}. /help lists the commands; //${name} sends it as text.`;
}
