import type { Directive } from "../../agent/directive.ts";
import { asked } from "../../agent/react/ask.ts";
import { isAsk } from "../../agent/react/restore.ts";
import type { RequestOptions } from "../../agent/signal.ts";
import { ContextPolicy } from "../../projection/policy/policy.ts";
import { copyJson, type JsonValue, sameJson } from "../../thread/json.ts";
import type { Content } from "../../thread/message.ts";
import { checkName } from "../../thread/names.ts";
import { untilAborted } from "../directives/until-aborted.ts";
import type { LiveRequest } from "../request/request.ts";
import { notAccepted, RequestError } from "../request/request-error.ts";
import { ensureCounter } from "./exact-counter.ts";
import type { LiveThread } from "./live-thread.ts";
import type { AskOptions } from "./options.ts";
import { itemsOf } from "./toolbox.ts";

interface Ask {
  readonly content: Content;
  readonly options: AskOptions<unknown>;
  readonly settle: (request: LiveRequest) => void;
  readonly fail: (error: unknown) => void;
}

/** Puts asks to the core, one after the other; where the agent queues, each when the one before has ended. */
export class Asking {
  readonly #live: LiveThread;
  #waiting: readonly Ask[] = [];
  #isPutting = false;
  #isAsking = false;

  constructor(live: LiveThread) {
    this.#live = live;
  }

  /** Whether an ask is on its way to the core: nobody knows yet whether it is taken. */
  get isAsking(): boolean {
    return this.#isAsking;
  }

  async ask(given: Content, options: AskOptions<unknown>): Promise<LiveRequest> {
    const { signal } = options;
    if (signal?.aborted) throw aborted();
    if (options.requestId !== undefined) checkName("requestId", options.requestId);
    const content = copyJson(given as JsonValue, "content") as Content; // content is JSON, and the caller's
    const { promise, resolve, reject } = Promise.withResolvers<LiveRequest>();
    const ask: Ask = { content, options, settle: resolve, fail: reject };
    const leave = (): void => {
      if (!this.#waiting.includes(ask)) return;
      this.#waiting = this.#waiting.filter((other) => other !== ask);
      reject(aborted());
    };
    signal?.addEventListener("abort", leave, { once: true });
    this.#waiting = [...this.#waiting, ask];
    void this.#putAll();
    try {
      return await promise;
    } finally {
      signal?.removeEventListener("abort", leave);
    }
  }

  /** Those who wait will not get their turn. */
  close(why: unknown): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { fail } of waiting) fail(why);
  }

  async #putAll(): Promise<void> {
    if (this.#isPutting) return;
    this.#isPutting = true;
    while (this.#waiting.length > 0) {
      if (this.#live.options.definition.busy === "queue") await this.#live.idle();
      const [ask, ...others] = this.#waiting;
      this.#waiting = others;
      if (ask === undefined) continue;
      this.#isAsking = true;
      await this.#put(ask).then(ask.settle, ask.fail);
      this.#isAsking = false;
      this.#live.changed();
    }
    this.#isPutting = false;
  }

  async #put({ content, options }: Ask): Promise<LiveRequest> {
    const live = this.#live;
    const { context, refs, signal, tools } = options;
    await live.mend(); // what has failed here would look like a request under way
    const { requestId = live.options.ports.ids("req") } = options;
    const taken = this.#taken(requestId, content);
    if (taken !== undefined) return taken;
    const ask = { type: "ask", requestId, content, options: requestOptions(options), ...(refs && { refs }) } as const;
    // While a request runs the core refuses every other: nobody's own code is asked what it would have been given.
    if (live.agent.state.run !== undefined) check(asked(live.agent, ask), requestId);
    try {
      if (tools !== undefined) live.toolbox.lend(requestId, await this.#wanted(signal, () => itemsOf(tools)));
      live.requests.setContext(requestId, context);
      await ensureCounter(live.session, ask.options.contextPolicy, live.agent.contextPolicy);
      const prompt = await this.#wanted(signal, () => live.prompt.of(context));
      check(await live.submit({ ...ask, ...prompt }), requestId);
      const request = live.requests.get(requestId);
      if (request === undefined) throw live.endOf(requestId); // the ask is in the log, and it ended here before it began
      this.#cancelWith(request, signal);
      return request;
    } catch (error) {
      live.requests.forget(requestId);
      live.toolbox.takeBack(requestId);
      throw error;
    }
  }

  /** The request of this id, when the same was asked: whoever asks once more did not hear that it was taken. */
  #taken(requestId: string, content: Content): LiveRequest | undefined {
    const { agent, requests } = this.#live;
    const request = requests.get(requestId);
    const ask = request && agent.thread.filterByRef("requestId", requestId).find(isAsk);
    return sameJson(Object(ask?.payload)["content"], content as JsonValue) ? request : undefined;
  }

  /** What the caller's own code gives, as long as anybody wants it: it may never end. */
  async #wanted<Answer>(signal: AbortSignal | undefined, work: () => Promise<Answer>): Promise<Answer> {
    const { stopped } = this.#live;
    try {
      return await untilAborted(stopped, () => (signal === undefined ? work() : untilAborted(signal, work)));
    } catch (error) {
      throw signal?.aborted ? aborted() : error;
    }
  }

  #cancelWith(request: LiveRequest, signal: AbortSignal | undefined): void {
    if (signal === undefined) return;
    const cancel = (): void => {
      request.abort.abort(new Error(ABORTED)); // what is just to begin need not
      this.#live.scene.send({ type: "cancel", requestId: request.id, reason: ABORTED });
    };
    if (signal.aborted) cancel();
    signal.addEventListener("abort", cancel, { once: true });
    void request.result.catch(() => undefined).then(() => signal.removeEventListener("abort", cancel));
  }
}

const ABORTED = "The signal of the request was aborted.";

function check({ directives }: { readonly directives: readonly Directive[] }, requestId: string): void {
  const refused = directives.find(({ type }) => type === "emit_request_error");
  if (refused?.type === "emit_request_error") throw notAccepted(requestId, refused.failure);
}

/** Tools that come with the ask are allowed: who narrows chooses among the agent's. */
function requestOptions(options: AskOptions<unknown>): RequestOptions {
  const { contextPolicy, allowedTools, maxIterations, context, tools } = options;
  return {
    ...(context !== undefined && { hasContext: true }),
    ...(contextPolicy && { contextPolicy: ContextPolicy.create(contextPolicy) }),
    ...(allowedTools && { allowedTools: [...new Set([...allowedTools, ...Object.keys(tools ?? {})])] }),
    ...(maxIterations !== undefined && { maxIterations: wholeFrom1(maxIterations) }),
  };
}

function wholeFrom1(maxIterations: number): number {
  if (Number.isSafeInteger(maxIterations) && maxIterations >= 1) return maxIterations;
  throw new RequestError({ code: "invalid_options", message: "maxIterations must be a whole number from 1." });
}

function aborted(): RequestError {
  return new RequestError({ code: "request_cancelled", message: "The signal was aborted before the ask was put." });
}
