import type { AgentContext, AgentOutput, AnyAgent } from "../agent/definition/config.ts";
import type { Content } from "../thread/message.ts";
import { LiveHost } from "./host/live-host.ts";
import type { HostGetOptions, HostOptions, AgentHost as Port } from "./host/port.ts";
import type { Recovered } from "./host/recovery.ts";
import { checkHostOptions } from "./option-names.ts";
import type { AgentRequest, SteerAnswer } from "./request/request.ts";
import type { AskArguments, AskOptions, Decider, SenderOptions, SteerOptions, StopOptions } from "./server/options.ts";
import type { AgentServer } from "./server/port.ts";

/** Runs one agent on many threads. Each thread has at most one live server. A released thread uses no memory. */
export type AgentHost<Given extends AnyAgent = AnyAgent> = Port<Given>;

/**
 * Makes hosts.
 *
 * @example
 * const host = AgentHost.create({ agent: defineAgent({ model: scriptedModel(["4"]) }), store: memoryStore() });
 * const request = await host.ask("thread_1", "What's 2+2?");
 * const { text } = await request.result; // "4"
 * await host.stop();
 */
export const AgentHost = Object.freeze({
  create<Given extends AnyAgent>(options: HostOptions<Given>): AgentHost<Given> {
    checkHostOptions(options);
    return new LazyHost(options);
  },
});

/** The host itself is created with the first call. */
class LazyHost<Given extends AnyAgent> implements AgentHost<Given> {
  readonly #options: HostOptions<Given>;
  #live: AgentHost<Given> | undefined;

  constructor(options: HostOptions<Given>) {
    this.#options = options;
  }

  get size(): number {
    return this.#live?.size ?? 0;
  }

  async get(threadId: string, options?: HostGetOptions<AgentContext<Given>>): Promise<AgentServer<Given>> {
    return (await this.#load()).get(threadId, options);
  }

  async ask(
    threadId: string,
    content: Content,
    ...options: AskArguments<AskOptions<AgentContext<Given>>>
  ): Promise<AgentRequest<AgentOutput<Given>>> {
    return (await this.#load()).ask(threadId, content, ...options);
  }

  async resume(threadIdOrToken: string): Promise<AgentRequest<AgentOutput<Given>> | undefined> {
    return (await this.#load()).resume(threadIdOrToken);
  }

  async recover(): Promise<Recovered> {
    return (await this.#load()).recover();
  }

  async approve(threadIdOrToken: string, toolCallId: string, options?: Decider): Promise<void> {
    await (await this.#load()).approve(threadIdOrToken, toolCallId, options);
  }

  async deny(threadIdOrToken: string, toolCallId: string, options?: Decider): Promise<void> {
    await (await this.#load()).deny(threadIdOrToken, toolCallId, options);
  }

  async answer(threadIdOrToken: string, toolCallId: string, output: unknown, options?: SenderOptions): Promise<void> {
    await (await this.#load()).answer(threadIdOrToken, toolCallId, output, options);
  }

  async steer(threadId: string, content: Content, options?: SteerOptions): Promise<SteerAnswer> {
    return (await this.#load()).steer(threadId, content, options);
  }

  async inject(
    threadId: string,
    content: Content,
    options: SteerOptions & { readonly source: string },
  ): Promise<SteerAnswer> {
    return (await this.#load()).inject(threadId, content, options);
  }

  async followUp(threadId: string, content: Content, options?: SteerOptions): Promise<SteerAnswer> {
    return (await this.#load()).followUp(threadId, content, options);
  }

  async cancel(threadId: string, requestId?: string, reason?: string, options?: SenderOptions): Promise<boolean> {
    return (await this.#load()).cancel(threadId, requestId, reason, options);
  }

  async stop(options?: StopOptions): Promise<void> {
    await (await this.#load()).stop(options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #load(): Promise<AgentHost<Given>> {
    this.#live ??= new LiveHost(this.#options);
    return this.#live;
  }
}
