import { portableSha256 } from "../../thread/encoding.ts";
import type { Message, ToolSpec } from "../../thread/message.ts";

/** A list of messages with a hash of each prefix, so that two lists can be compared at any length. */
export class FingerprintChain {
  readonly messages: Message[] = [];
  readonly #links: string[];
  #before: FingerprintChain | undefined;
  /** How many messages at the start equal those of the previous chain. */
  #shared = 0;

  /** Starts with the hash of the tools. Hashes of messages that equal the previous chain are reused. */
  constructor(toolsText: string, before?: FingerprintChain) {
    const first = before === undefined ? undefined : before.#links[0];
    this.#before = before !== undefined && before.toolsText === toolsText ? before : undefined;
    this.#links = [this.#before && first !== undefined ? first : portableSha256(toolsText)];
    this.toolsText = toolsText;
  }

  readonly toolsText: string;

  /** The hash over the tools and all messages so far. */
  get fingerprint(): string {
    return this.#links.at(-1) ?? "";
  }

  push(message: Message): void {
    const index = this.messages.length;
    const known = this.#shared === index && this.#before?.messages[index] === message;
    if (known) this.#shared = index + 1;
    const link = known && this.#before !== undefined ? this.#before.#links[index + 1] : undefined;
    this.#links.push(link ?? portableSha256(`${this.fingerprint}\n${JSON.stringify(message)}`));
    this.messages.push(message);
  }

  /** Drops the reference to the previous chain, so that its messages can be garbage collected. */
  seal(): this {
    this.#before = undefined;
    Object.freeze(this.messages);
    return this;
  }

  /** Replaces the last message. */
  replaceLast(message: Message): void {
    this.messages.pop();
    this.#links.pop();
    this.#shared = Math.min(this.#shared, this.messages.length);
    this.push(message);
  }
}

/** Returns the fingerprint of tools and messages that are not from a projection. */
export function fingerprintOf(tools: readonly ToolSpec[], messages: readonly Message[]): string {
  const chain = new FingerprintChain(JSON.stringify(tools));
  for (const message of messages) chain.push(message);
  return chain.fingerprint;
}
