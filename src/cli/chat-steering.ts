import type { AgentEvent } from "../agent/event.ts";
import type { Interrupts } from "./interrupts.ts";
import { line, type Output } from "./output.ts";
import type { StudioClient } from "./studio-client.ts";
import { reasonText, sendSteer } from "./studio-requests.ts";

interface SteeringOptions {
  readonly out: Output;
  readonly client: StudioClient;
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
  readonly #options: SteeringOptions;
  readonly #began = Promise.withResolvers<string>();
  readonly #open = new Map<string, string>();
  /** Ids of texts whose delivery was reported before the server answered the call that sent them. */
  readonly #deliveredEarly = new Set<string>();
  #sending: Promise<void> = Promise.resolve();
  readonly #lateLines: string[] = [];
  #isOver = false;
  #wantsToLeave = false;

  constructor(options: SteeringOptions) {
    this.#options = options;
  }

  /** Whether the user has asked to leave when the request ends. */
  get wantsToLeave(): boolean {
    return this.#wantsToLeave;
  }

  began(requestId: string): void {
    this.#began.resolve(requestId);
  }

  /** Handles lines one after the other. */
  handleLine(text: string): void {
    this.#sending = this.#sending.then(() => this.#handle(text.trim())).catch((error: unknown) => this.#failed(error));
  }

  async event(event: AgentEvent): Promise<void> {
    if (event.kind !== "input_injected") return;
    const { id } = event.data;
    const text = this.#open.get(id);
    if (text === undefined) this.#deliveredEarly.add(id);
    else await this.#delivered(id, text);
  }

  /** Ends the steering of a request that has ended. Returns the texts that were not delivered. */
  async ended(): Promise<readonly string[]> {
    this.#isOver = true;
    this.#began.resolve("");
    await this.#sending;
    for (const text of this.#open.values()) await this.#late(text);
    this.#open.clear();
    return this.#lateLines;
  }

  async #handle(text: string): Promise<void> {
    const { out } = this.#options;
    const command = parseChatCommand(text);
    switch (command?.name) {
      case "help":
        return out.info(CHAT_HELP);
      case "quit":
        this.#wantsToLeave = true;
        return this.#cancel();
      case "cancel":
        return this.#cancel();
      case "followup":
        return this.#sendText(command.rest, "follow_up");
      case undefined:
        return this.#sendText(text.startsWith("//") ? text.slice(1) : text, "steer");
      default:
        return out.info(unknownCommand(command?.name ?? ""));
    }
  }

  async #sendText(content: string, kind: "steer" | "follow_up"): Promise<void> {
    if (content === "") return;
    const { client, threadId } = this.#options;
    const requestId = await this.#began.promise;
    if (this.#isOver) return this.#late(content);
    const { id, accepted, reason } = await sendSteer(client, threadId, { content, kind, requestId });
    if (!accepted && reason === "idle") return this.#late(content);
    if (!accepted) return this.#report("yellow", "not delivered", `${reasonText(reason)}: ${line(content, 60)}`);
    if (this.#deliveredEarly.delete(id)) return this.#delivered(id, content);
    this.#open.set(id, content);
  }

  #late(content: string): Promise<void> {
    this.#lateLines.push(content);
    return this.#report("yellow", "not delivered", `the request ended first: ${line(content, 60)}`);
  }

  #delivered(id: string, text: string): Promise<void> {
    this.#open.delete(id);
    return this.#report("dim", "delivered", line(text, 60));
  }

  /** Also before the request has begun: it may wait for its turn. */
  async #cancel(): Promise<void> {
    if (!this.#isOver) this.#options.interrupts.cancel();
  }

  #report(style: "dim" | "yellow", what: string, more: string): Promise<void> {
    const { out } = this.#options;
    return out.info(
      style === "dim" ? out.paintError("dim", `${what}: ${more}`) : `${out.paintError(style, `${what}:`)} ${more}`,
    );
  }

  #failed(error: unknown): Promise<void> {
    const message = error instanceof Error ? error.message : "the reason is unknown";
    return this.#report("yellow", "not delivered", message);
  }
}

interface ChatCommand {
  readonly name: string;
  readonly rest: string;
}

/** Parses `/name rest`. A line that begins with two slashes is not a command, but text that begins with one slash. */
export function parseChatCommand(text: string): ChatCommand | undefined {
  const match = /^\/([a-z]*)(?:\s+([\s\S]*))?$/.exec(text);
  return match === null ? undefined : { name: match[1] ?? "", rest: (match[2] ?? "").trim() };
}

export function unknownCommand(name: string): string {
  return `There is no /${name}. /help lists the commands; //${name} sends it as text.`;
}
