import type { AgentContext, AgentOutput, AnyAgent } from "../../agent/definition/agent.ts";
import { StaleHolderError, ThreadHeldError } from "../../stores/errors.ts";
import { HeddleError } from "../../thread/errors.ts";
import type { Content } from "../../thread/message.ts";
import { checkDecider, checkGetOptions, checkStopOptions } from "../option-names.ts";
import { type RuntimePorts, runtimePorts } from "../ports.ts";
import type { AgentRequest } from "../request/request.ts";
import type { AskArguments, AskOptions, Decider, StopOptions } from "../server/options.ts";
import type { AgentServer } from "../server/port.ts";
import { answeredWith } from "../tools/result.ts";
import { harmless, systemWarn } from "../warn.ts";
import { type Decision, decideByEntry, notWaiting } from "./decide-by-entry.ts";
import { interruptedThreads } from "./interrupted.ts";
import { LiveThreads } from "./live-threads.ts";
import type { AgentHost, HostGetOptions, HostOptions } from "./port.ts";
import { type Target, targetOf } from "./thread-token.ts";

/** Threads that are taken up at once. */
const AT_ONCE = 32;
const CLAIM_TTL_MS = 10_000;

export class LiveHost<Given extends AnyAgent> implements AgentHost<Given> {
  readonly #options: HostOptions<Given>;
  readonly #ports: RuntimePorts;
  readonly #threads: LiveThreads<Given>;
  readonly #warn: (message: string) => void;
  /** Threads whose holder may be dead: looked at once more when its claim has run out. */
  readonly #later = new Map<string, () => void>();

  constructor(options: HostOptions<Given>) {
    this.#options = options;
    this.#ports = runtimePorts(options.ports);
    this.#warn = harmless(options.warn ?? systemWarn);
    this.#threads = new LiveThreads(options, this.#ports);
  }

  get size(): number {
    return this.#threads.size;
  }

  async get(threadId: string, options: HostGetOptions<AgentContext<Given>> = {}): Promise<AgentServer<Given>> {
    checkGetOptions(options);
    return this.#threads.use(threadId, async ({ server }) => server, options);
  }

  ask(
    threadId: string,
    content: Content,
    ...options: AskArguments<AskOptions<AgentContext<Given>>>
  ): Promise<AgentRequest<AgentOutput<Given>>> {
    return this.#threads.use(threadId, async ({ server, hosted }) => hosted(await server.ask(content, ...options)));
  }

  async resume(threadIdOrToken: string): Promise<AgentRequest<AgentOutput<Given>> | undefined> {
    const { threadId, requestId } = await this.#target(threadIdOrToken);
    return this.#threads.use(threadId, async ({ server, hosted }) => {
      const { request } = server;
      const isOf = request !== undefined && (requestId === undefined || request.id === requestId);
      return isOf ? hosted(request) : undefined;
    });
  }

  async recover(): Promise<number> {
    const found = await interruptedThreads(this.#options.store, this.#ports);
    const first = await this.#takeUp(found, 0);
    // A dead holder's claim runs out while all of these wait together; a living one keeps its threads.
    const second = await this.#takeUp(first.held, undefined);
    return first.taken + second.taken;
  }

  async approve(threadIdOrToken: string, toolCallId: string, options: Decider = {}): Promise<void> {
    checkDecider("approve", options);
    const here = (server: AgentServer<Given>) => server.approve(toolCallId, options);
    return this.#decide(threadIdOrToken, here, { toolCallId, approved: true, ...options });
  }

  async deny(threadIdOrToken: string, toolCallId: string, options: Decider = {}): Promise<void> {
    checkDecider("deny", options);
    const here = (server: AgentServer<Given>) => server.deny(toolCallId, options);
    return this.#decide(threadIdOrToken, here, { toolCallId, approved: false, ...options });
  }

  async answer(threadIdOrToken: string, toolCallId: string, output: unknown): Promise<void> {
    const outcome = answeredWith(output);
    await this.#decide(threadIdOrToken, (server) => server.answer(toolCallId, output), { toolCallId, outcome });
  }

  async stop(options: StopOptions = {}): Promise<void> {
    checkStopOptions(options);
    for (const cancel of this.#later.values()) cancel();
    this.#later.clear();
    await this.#threads.stop(options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #target(threadIdOrToken: string): Promise<Target> {
    const { agent, store, revocations } = this.#options;
    const { clock } = this.#ports;
    return targetOf(threadIdOrToken, { agent, store, ports: this.#ports, clock, warn: this.#warn, revocations });
  }

  async #decide(
    threadIdOrToken: string,
    here: (server: AgentServer<Given>) => Promise<void>,
    decision: Decision,
  ): Promise<void> {
    const { threadId, requestId } = await this.#target(threadIdOrToken);
    const decided = async (server: AgentServer<Given>): Promise<void> => {
      if (requestId !== undefined && server.request?.id !== requestId) throw notWaiting(decision.toolCallId);
      await here(server);
    };
    try {
      await this.#threads.use(threadId, ({ server }) => decided(server), { claimWaitMs: 0 });
    } catch (error) {
      if (!ThreadHeldError.isInstance(error) && !StaleHolderError.isInstance(error)) throw error;
      const { agent, store } = this.#options;
      await decideByEntry({ agent, store, threadId, ports: this.#ports, requestId }, decision);
      this.#lookAgain(threadId);
    }
  }

  /** Whoever held the thread when a decision was written may have died: then it is taken up here. */
  #lookAgain(threadId: string): void {
    if (this.#threads.isStopped || this.#later.has(threadId)) return;
    const cancel = this.#ports.after(this.#options.claimTtlMs ?? CLAIM_TTL_MS, () => {
      this.#later.delete(threadId);
      void this.#takeUp([threadId], 0);
    });
    this.#later.set(threadId, cancel);
  }

  async #takeUp(
    threadIds: readonly string[],
    claimWaitMs: number | undefined,
  ): Promise<{ readonly taken: number; readonly held: readonly string[] }> {
    const held: string[] = [];
    const left = [...threadIds];
    let taken = 0;
    const take = async (): Promise<void> => {
      for (let threadId = left.shift(); threadId !== undefined; threadId = left.shift()) {
        if (this.#threads.isStopped) return;
        try {
          const { request } = await this.#threads.use(threadId, async ({ server }) => server, { claimWaitMs });
          if (request !== undefined) taken += 1;
        } catch (error) {
          if (ThreadHeldError.isInstance(error)) held.push(threadId);
          else this.#cannotTakeUp(threadId, error);
        }
      }
    };
    // Waiting costs nothing but a timer; starting reads and writes.
    const width = claimWaitMs === 0 ? AT_ONCE : left.length;
    await Promise.all(Array.from({ length: Math.min(width, left.length) }, take));
    return { taken, held };
  }

  /** One thread that is damaged must not keep the others from going on. */
  #cannotTakeUp(threadId: string, error: unknown): void {
    if (this.#threads.isStopped) return;
    const why = HeddleError.isInstance(error) ? error.message : "it met an error that is not known.";
    this.#warn(`Thread ${threadId} could not be taken up: ${why}`);
  }
}
