import type { Directive } from "../../agent/directive.ts";
import { isWaiting, type ReactAgent, type Step } from "../../agent/react/agent.ts";
import { decideDurable, decideNext } from "../../agent/react/decide.ts";
import type { Failure, Signal } from "../../agent/signal.ts";
import { lanesOfExtended } from "../../lanes/active-lane.ts";
import { ContextOpError, type ContextOperation } from "../../lanes/context-operation.ts";
import { ConflictError, threadNotFound } from "../../stores/errors.ts";
import type { ThreadStore } from "../../stores/port.ts";
import { longerTail } from "../../stores/project-from-store.ts";
import { HeddleError } from "../../thread/errors.ts";
import type { JsonObject } from "../../thread/json.ts";
import type { RuntimePorts } from "../ports.ts";
import { RequestError } from "../request/request-error.ts";
import { commit } from "./commit.ts";
import { Jobs } from "./jobs.ts";
import { caughtUp, isAmple } from "./load.ts";
import { patiently } from "./patiently.ts";

/** What a signal came to. */
export interface Outcome {
  readonly before: ReactAgent;
  readonly after: ReactAgent;
  readonly directives: readonly Directive[];
}

export interface SessionOptions {
  readonly store: ThreadStore;
  readonly ports: RuntimePorts;
  readonly agent: ReactAgent;
  readonly epoch: () => number | undefined;
  /** Performs one directive; what takes time it starts and does not wait for. What it throws, the sender of the signal gets. */
  readonly perform: (directive: Directive, after: ReactAgent, before: ReactAgent) => Promise<void> | void;
  /** Metadata to be written beside the entries of a step. */
  readonly beside: (agent: ReactAgent, directives: readonly Directive[]) => JsonObject;
  /** Called behind every signal, whoever sent it, also one that could not be taken. */
  readonly taken: () => void;
  /** Told what a function of the caller threw when a call was prepared; answers the failure of the request or the ask. */
  readonly threw: (error: unknown) => Failure;
  /** An append failed for good: what the log does not have did not happen. */
  readonly broken: (error: unknown) => void;
}

/** Where a run comes to wait for somebody outside is a place to go on from: results that came in meanwhile are kept. */
function comesToWait({ before, after }: Outcome): Directive | undefined {
  const { run } = after.state;
  if (run === undefined || isWaiting(before) || !isWaiting(after)) return undefined;
  const { requestId, runId, iteration } = run;
  return { type: "checkpoint", requestId, runId, iteration, reason: "after_llm" };
}

type Change = (agent: ReactAgent) => ReactAgent;

/**
 * One thread at work: takes signals one after the other, and for each lets the core decide, makes what it decided durable,
 * and only then has it performed. What comes next is decided after that: the caller's functions never see what could be lost.
 */
export class Session {
  readonly #options: SessionOptions;
  readonly #jobs = new Jobs();
  #agent: ReactAgent;
  /** Made while a signal was at work: they hold for what comes of it, too. */
  #changes: readonly Change[] = [];

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#agent = options.agent;
  }

  get agent(): ReactAgent {
    return this.#agent;
  }

  get isClosed(): boolean {
    return this.#jobs.isClosed;
  }

  /** Resolves when the signal's entries are durable and its directives were begun. */
  submit(signal: Signal): Promise<Outcome> {
    return this.#jobs.add(() => this.#take(signal).finally(this.#options.taken));
  }

  /** The same, before anything else that waits. */
  submitNext(signal: Signal): Promise<Outcome> {
    return this.#jobs.addNext(() => this.#take(signal).finally(this.#options.taken));
  }

  /** Reads from the agent; when that needs more of the thread than is loaded, it is loaded. */
  read<Answer>(read: (agent: ReactAgent) => Answer): Promise<Answer> {
    return this.#jobs.add(async () => {
      for (;;) {
        try {
          return read(this.#agent);
        } catch (error) {
          await this.#extend(error);
        }
      }
    });
  }

  /**
   * Loads what such a read needs, unless it works already. Loads once and does not check again when the loaded entries reach
   * far enough: another read takes as long as the load.
   */
  readAhead(read: (agent: ReactAgent) => unknown): Promise<void> {
    return this.#jobs.add(async () => {
      for (;;) {
        try {
          read(this.#agent);
          return;
        } catch (error) {
          const before = this.#agent.thread;
          const requests = await this.#extend(error);
          if (isAmple(this.#agent.thread, before, error, requests)) return;
        }
      }
    });
  }

  /** Work that signals wait for which come later. */
  first<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    return this.#jobs.add(work);
  }

  /** Changes what no entry tells: policy, prompt, tools. A change may be made twice. */
  change(change: Change): void {
    this.#agent = change(this.#agent);
    this.#changes = [...this.#changes, change];
  }

  /** Another agent of the same thread, such as the log tells of anew; after `halt` signals are taken again. */
  replace(make: (agent: ReactAgent) => Promise<ReactAgent>): Promise<void> {
    return this.#jobs.restart(async () => {
      this.#changes = [];
      this.#set(await make(this.#agent));
    });
  }

  /** Takes no signals until the agent is replaced: what it holds is not what the log says. */
  halt(why: unknown): void {
    this.#jobs.halt(why);
  }

  /** Takes no more signals; resolves when the one at work is done. */
  close(why: unknown): Promise<void> {
    return this.#jobs.close(why);
  }

  async #take(signal: Signal): Promise<Outcome> {
    const { perform, store } = this.#options;
    if (signal.type === "notice") await this.#catchUp(store);
    const durable = await this.#decided(signal.type, (agent) => this.#first(agent, signal));
    await this.#perform(durable);
    const outcome = this.#agent.flight.next === undefined ? durable : await this.#goOn(durable);
    const marked = comesToWait(outcome);
    if (marked !== undefined) await perform(marked, outcome.after, outcome.before);
    return outcome;
  }

  /** An ask runs functions of the caller before it is written: one that throws refuses the ask. */
  #first(agent: ReactAgent, signal: Signal): Step {
    try {
      return decideDurable(agent, signal);
    } catch (cause) {
      if (signal.type !== "ask" || HeddleError.isInstance(cause)) throw cause;
      throw new RequestError({ ...this.#options.threw(cause), cause });
    }
  }

  /** What comes next. The caller's functions run here: one that throws fails the request, and what is durable stays. */
  async #goOn({ before, directives }: Outcome): Promise<Outcome> {
    let thrown: unknown;
    const decideStep = (agent: ReactAgent): Step => {
      try {
        return decideNext(agent);
      } catch (error) {
        thrown = error;
        throw error;
      }
    };
    const next = await this.#decided("next", decideStep).catch((error: unknown) => {
      if (error !== thrown) throw error; // of the store
      const failure = this.#options.threw(error);
      return this.#decided("fail", (agent) => decideDurable(agent, { type: "fail", failure }));
    });
    await this.#perform(next);
    return { before, after: next.after, directives: [...directives, ...next.directives] };
  }

  async #perform({ directives, after, before }: Outcome): Promise<void> {
    for (const directive of directives) await this.#options.perform(directive, after, before);
  }

  async #decided(type: Signal["type"] | "next", decideStep: (agent: ReactAgent) => Step): Promise<Outcome> {
    const { store, ports, epoch, broken, beside } = this.#options;
    let refused: ContextOperation | undefined;
    for (;;) {
      this.#changes = [];
      const before = this.#agent;
      let step: Step;
      try {
        step = decideStep(before);
      } catch (error) {
        await this.#extend(error);
        continue;
      }
      try {
        const after = await commit(
          { store, epoch: epoch(), ports, beside: beside(step.agent, step.directives) },
          before,
          step.agent,
        );
        this.#set(after);
        const alone = refused === undefined ? [] : [{ type: "apply_context_op", operation: refused } as const];
        return { before, after, directives: [...step.directives, ...alone] };
      } catch (error) {
        if (ContextOpError.isInstance(error) && before.flight.contextOp !== undefined && type !== "context_op") {
          // What the log does not take must not cost the request its end: it gets its turn alone.
          refused = before.flight.contextOp;
          this.#agent = { ...this.#agent, flight: { ...this.#agent.flight, contextOp: undefined } };
          continue;
        }
        const isOthers = ConflictError.isInstance(error) && (await this.#catchUp(store));
        if (!isOthers) {
          const isDeleted = ConflictError.isInstance(error) && error.actual === 0;
          const cause = isDeleted ? threadNotFound(before.thread.id) : error;
          if (step.agent.thread.rev > before.thread.rev && type !== "worked") broken(cause);
          throw cause;
        }
        // They may have decided something. What goes wrong then goes wrong again with the next signal.
        if (type !== "notice") this.submitNext({ type: "notice" }).catch(() => undefined);
      }
    }
  }

  /** Returns the first entries of the requests that were looked up. */
  async #extend(error: unknown): Promise<readonly number[]> {
    const { store, ports } = this.#options;
    const { thread, requests } = await patiently(ports, () => longerTail(store, this.#agent.thread, error));
    const { state } = this.#agent;
    this.#agent = { ...this.#agent, thread, state: { ...state, lanes: lanesOfExtended(thread, state.lanes) } };
    return requests;
  }

  /** Whether others had written anything. */
  async #catchUp(store: ThreadStore): Promise<boolean> {
    const before = this.#agent.thread;
    const caught = await patiently(this.#options.ports, () => caughtUp(store, this.#agent, this.#options.ports));
    if (caught === undefined) return false; // its run can not go on
    this.#agent = { ...this.#agent, thread: caught.thread, state: caught.state };
    return caught.thread !== before;
  }

  #set(agent: ReactAgent): void {
    this.#agent = this.#changes.reduce((before, change) => change(before), agent);
  }
}
