import type { AgentConfig } from "../../../src/agent/definition/config.ts";
import { defineAgent } from "../../../src/agent/definition/define-agent.ts";
import { type OpenCall, openCalls } from "../../../src/agent/react/state.ts";
import type { RuntimePorts } from "../../../src/runtime/ports.ts";
import type { AgentServer } from "../../../src/runtime/server/agent-server.ts";
import type { FaultPlan } from "../../../src/testing/fault-store/fault.ts";
import { CLIENT_TOOLS } from "../../../src/testing/simulation/generated-agent.ts";
import { createSimulation } from "../../../src/testing/simulation/simulate.ts";
import { type SimulationState, THREAD_ID } from "../../../src/testing/simulation/simulation-state.ts";
import { type Rules, ruleModel } from "./rule-model.ts";

type Recover = "resume" | "fail";

export interface Story {
  readonly name: string;
  readonly rules: Rules;
  readonly config?: Partial<AgentConfig>;
  /** What of it takes time, by the clock of its process. */
  readonly timed?: (ports: RuntimePorts) => Partial<AgentConfig>;
  /** What the user does. Where the process dies it simply ends. */
  readonly play: (stage: Stage) => Promise<void>;
  /** Appends that take their time, counted from 1: others get between them and what comes next. */
  readonly slowAppends?: readonly number[];
  /** The user gets a word in before the model answers. */
  readonly modelThinks?: boolean;
  /** How the request may have ended when all is over; default only completed. */
  readonly ends?: readonly string[];
  /** Behind which ask a context operation comes that has to wait for the end of the request. */
  readonly operationBehindAsk?: number;
}

/** A story in a world of its own, in which one process may be killed at one write. */
export class Stage {
  readonly world: SimulationState;
  readonly #operationBehindAsk: number | undefined;
  #asks = 0;
  readonly #conditions = new Map<() => boolean, () => void>();
  /** The story's process has died: what the story still wants to do, it cannot. */
  #isOver = false;
  #recover: Recover = "resume";

  private constructor(world: SimulationState, { operationBehindAsk }: Story) {
    this.world = world;
    this.#operationBehindAsk = operationBehindAsk;
  }

  static async open(story: Story, plan: FaultPlan): Promise<Stage> {
    let stage: Stage | undefined;
    const recoverOf = (): Recover => (stage === undefined ? "resume" : stage.#recover);
    let appends = 0;
    const slow: FaultPlan = ({ method, kinds = [] }) =>
      method === "append" && kinds.length > 0 && story.slowAppends?.includes(++appends)
        ? { type: "delay", ms: 300 }
        : undefined;
    const world = await createSimulation({
      seed: 1,
      faults: () => ({ plan: (write) => plan(write) ?? slow(write) }),
      make: ({ tools, ports }) => {
        const timed = story.timed?.(ports);
        return defineAgent({
          maxIterations: 4,
          ...story.config,
          ...timed,
          tools: { ...tools, ...story.config?.tools, ...timed?.tools },
          model: ruleModel(
            story.rules,
            story.modelThinks || story.operationBehindAsk !== undefined ? () => aMoment(ports) : undefined,
          ),
          recover: recoverOf(),
        } as AgentConfig);
      },
    });
    stage = new Stage(world, story);
    return stage;
  }

  get server(): AgentServer {
    this.#mustPlay();
    return this.#server;
  }

  #mustPlay(): void {
    if (this.#isOver) throw new Error("the process of the story is dead");
  }

  get #server(): AgentServer {
    const { server } = this.world.current ?? {};
    if (server === undefined) throw new Error("the story has no server");
    return server;
  }

  async start(how: Recover = this.#recover): Promise<void> {
    this.#mustPlay();
    await this.#start(how);
  }

  async #start(how: Recover): Promise<void> {
    this.#recover = how;
    const process = this.world.process();
    this.world.current = process;
    await process.start({ threadId: THREAD_ID, claimWaitMs: 60_000 });
  }

  /** The process dies, and the story goes on with another one. */
  die(): void {
    if (this.world.current !== undefined) this.world.kill(this.world.current);
  }

  /** Asks, and sees to it that the ask stays in the log. */
  async ask(content: string, options: Parameters<AgentServer["ask"]>[1] = {}): Promise<void> {
    const { id } = await this.server.ask(content, options);
    this.world.acknowledged.add(`the ask ${content}`, ({ thread }) => thread.filterByRef("requestId", id).length > 0);
    this.#asks += 1;
    if (this.#asks === this.#operationBehindAsk) await this.#defer();
  }

  /** Words for the open request. Words that were accepted must have one outcome in the end. */
  async steer(content: string, way: "steer" | "followUp" = "steer"): Promise<void> {
    const { id, accepted } = await this.server[way](content);
    if (accepted) this.mustEnd(id);
  }

  /** The command must have one outcome when all is over. */
  mustEnd(id: string): void {
    this.world.commands.add(id);
  }

  /** From the moment that it is said to wait, it is in the log as soon as the request has ended. */
  async #defer(): Promise<void> {
    const resultContext = { id: "ctx", entries: [] };
    const operation = { type: "replace", reason: "manual", resultContext } as const;
    const { status } = await this.server.modifyContext({ opId: "behind", operation });
    this.mustEnd("behind");
    if (status !== "deferred") throw new Error(`the operation is ${status}: nothing runs that it could wait for`);
    this.world.acknowledged.add("the operation that waits", ({ thread, state }) => {
      return state.run !== undefined || thread.filterByKind("ai_context_operation").length > 0;
    });
  }

  /** Waits for something to be so; time goes on meanwhile. */
  until(isSo: () => boolean): Promise<void> {
    this.#mustPlay();
    return this.#until(isSo);
  }

  #until(isSo: () => boolean): Promise<void> {
    return new Promise((resolve) => this.#conditions.set(isSo, resolve));
  }

  waiting(): Promise<void> {
    return this.until(() => this.server.request?.state === "waiting");
  }

  ended(): Promise<void> {
    return this.until(
      () =>
        this.server.request === undefined &&
        this.world.log.state.run === undefined &&
        this.world.log.state.last !== undefined,
    );
  }

  logged(kind: string): Promise<void> {
    return this.until(() => this.world.log.thread.filterByKind(kind).length > 0);
  }

  /** Plays until the story is over, or until its process dies. */
  async run(play: (stage: Stage) => Promise<void>): Promise<"over" | "dead"> {
    let outcome: { readonly error?: unknown } | undefined;
    const settled = (given: object): void => {
      outcome ??= given;
    };
    play(this).then(
      () => settled({}),
      (error: unknown) => settled({ error }),
    );
    for (let moment = 0; moment < 600; moment++) {
      await this.world.settle();
      for (const [isSo, resolve] of [...this.#conditions]) {
        if (this.#isDead || !isSo()) continue;
        this.#conditions.delete(isSo);
        resolve();
      }
      if (this.#isDead) {
        this.#isOver = true;
        return "dead";
      }
      if (outcome?.error !== undefined) throw outcome.error;
      if (outcome !== undefined) return "over";
      if (this.#conditions.size === 0) await this.world.settle();
      if (outcome === undefined && ![...this.#conditions.keys()].some((isSo) => isSo())) await this.world.next();
    }
    throw new Error(`the story does not go on; the log has ${this.world.log.thread.rev} entries`);
  }

  get #isDead(): boolean {
    return this.world.processes.some(({ isAlive }) => !isAlive);
  }

  /** Another process takes the thread up, and whoever is asked says yes. */
  async recover(how: Recover): Promise<void> {
    this.#isOver = true;
    this.#conditions.clear();
    for (const process of [...this.world.processes]) this.world.kill(process);
    this.world.calm();
    await this.run(async () => {
      await this.#start(how);
      for (let round = 0; round < 12 && this.world.log.state.run !== undefined; round++) {
        await this.#until(() => this.world.log.state.run === undefined || this.#server.request?.state === "waiting");
        await this.#answer();
      }
    });
  }

  async #answer(): Promise<void> {
    const { run } = this.world.log.state;
    const server = this.#server;
    for (const { call, status } of run === undefined ? [] : openCalls(run)) {
      if (status === "approval_requested") await this.#approve(call.id);
      else if (status === "asleep") await this.#decided(call.id, status);
      else if (status === "asked" || CLIENT_TOOLS.has(call.name)) await server.answer(call.id, "yes");
    }
  }

  /** Says yes, or waits for the deadline to decide, which has passed. */
  async #approve(toolCallId: string): Promise<void> {
    try {
      await this.#server.approve(toolCallId);
    } catch (error) {
      if (Object(error).code !== "not_waiting") throw error;
      await this.#decided(toolCallId, "approval_requested");
    }
  }

  /** Waits until the call has another status: its time decides. */
  #decided(toolCallId: string, before: OpenCall["status"]): Promise<void> {
    const waits = ({ call, status }: OpenCall) => call.id === toolCallId && status === before;
    return this.#until(() => !(this.world.log.state.run?.calls ?? []).some(waits));
  }

  /** The thread takes another ask and answers it, whatever happened before. */
  async goesOn(): Promise<void> {
    const before = this.world.log.thread.rev;
    await this.run(async () => {
      const request = await this.#server.ask("Are you there?", { maxIterations: 1, allowedTools: [] });
      await request.result.catch(() => undefined);
    });
    if (this.world.log.thread.rev < before + 2) throw new Error("the thread does not take another ask");
  }

  close(): Promise<void> {
    return this.world.close();
  }
}

/** What the user does is to be there before the answer is. */
function aMoment({ after }: RuntimePorts): Promise<void> {
  return new Promise((resolve) => void after(5, resolve));
}
