import type { Directive } from "../../agent/directive.ts";
import { handleAsk } from "../../agent/react/ask.ts";
import { isAsk } from "../../agent/react/restore.ts";
import type { StoredRequestOptions } from "../../agent/signal.ts";
import { checkedInput } from "../../projection/policy/policy.ts";
import type { Entry } from "../../thread/entry.ts";
import { copyJsonRepaired, type JsonObject, type JsonValue, sameJson } from "../../thread/json.ts";
import type { Content } from "../../thread/message.ts";
import { checkName } from "../../thread/names.ts";
import { untilAborted } from "../directives/until-aborted.ts";
import type { AgentRequest, LiveRequest } from "../request/request.ts";
import { isSuspended, notAccepted, RequestError } from "../request/request-error.ts";
import { ensureCounter } from "./exact-counter.ts";
import type { LiveThread } from "./live-thread.ts";
import type { AskOptions } from "./options.ts";
import { findAsk, pastRequest, type RequestLog } from "./past-request.ts";
import { itemsOf } from "./toolbox.ts";

/** A ref by which an ask is known when it is asked again. */
type Key = readonly [ref: string, value: string];

interface Ask {
  readonly content: Content;
  readonly keys: readonly Key[];
  readonly options: AskOptions<unknown>;
  readonly settle: (request: AgentRequest) => void;
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

  async ask(given: Content, options: AskOptions<unknown>): Promise<AgentRequest> {
    const { signal } = options;
    if (signal?.aborted) throw aborted();
    if (options.requestId !== undefined) checkName("requestId", options.requestId);
    const keys = keysOf(options);
    const content = copyJsonRepaired(given, "content") as Content; // content is JSON, and the caller's
    const open = this.#open(keys, content);
    if (open !== undefined) return open; // in a queue it would wait for its own end
    const { promise, resolve, reject } = Promise.withResolvers<AgentRequest>();
    const ask: Ask = { content, options, keys, settle: resolve, fail: reject };
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

  async #put({ content, keys, options }: Ask): Promise<AgentRequest> {
    const live = this.#live;
    const { context, refs, signal, tools } = options;
    await live.mend(); // what has failed here would look like a request under way
    const { requestId = live.options.ports.ids("req") } = options;
    const taken = await this.#wanted(signal, () => this.#taken(keys, content));
    if (taken !== undefined) return taken;
    const ask = { type: "ask", requestId, content, options: requestOptions(options), ...(refs && { refs }) } as const;
    // While a request runs the core refuses every other: nobody's own code is asked what it would have been given.
    if (live.agent.state.run !== undefined) check(handleAsk(live.agent, ask), requestId);
    try {
      if (tools !== undefined)
        live.toolbox.lend(requestId, await this.#wanted(signal, () => itemsOf(tools, live.hookLimit)));
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

  /** The open request, when these are its keys and words. */
  #open(keys: readonly Key[], content: Content): AgentRequest | undefined {
    const { agent, current } = this.#live;
    const ask = current && agent.thread.filterByRef("requestId", current.id, { partial: true }).find(isAsk);
    return ask !== undefined && hasWords(ask, content) && keys.some(([ref, value]) => ask.refs[ref] === value)
      ? current
      : undefined;
  }

  /** The request that was asked with one of these before: whoever asks once more did not hear that it was taken. */
  async #taken(keys: readonly Key[], content: Content): Promise<AgentRequest | undefined> {
    for (const [ref, value] of keys) {
      const ask = await this.#find(ref, value);
      if (ask === undefined) continue;
      const { requestId = "" } = ask.refs;
      if (!hasWords(ask, content)) throw reused(requestId, ref);
      return this.#live.requests.get(requestId) ?? pastRequest(this.#live, ask);
    }
    return undefined;
  }

  /** What is known of a thread that was deleted since is forgotten first. */
  async #find(ref: string, value: string): Promise<Entry | undefined> {
    const ask = await findAsk(this.#live, ref, value);
    const { thread } = this.#live.agent;
    if (ask === undefined) return undefined;
    await this.#live.submit({ type: "notice" });
    return this.#live.agent.thread === thread ? ask : findAsk(this.#live, ref, value);
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
      if (isSuspended(signal)) return;
      request.abort.abort(new Error(ABORTED)); // what is just to begin need not
      this.#live.scene.send({ type: "cancel", requestId: request.id, reason: ABORTED });
    };
    if (signal.aborted) cancel();
    signal.addEventListener("abort", cancel, { once: true });
    void request.result.catch(() => undefined).then(() => signal.removeEventListener("abort", cancel));
  }
}

/**
 * A request that was asked with these keys before, on a thread that another process holds: one that has ended, from the log.
 * One that is open rejects with `request_suspended`.
 */
export async function askedBefore(
  log: RequestLog,
  content: Content,
  options: AskOptions<unknown>,
): Promise<AgentRequest | undefined> {
  for (const [ref, value] of keysOf(options)) {
    const ask = await findAsk(log, ref, value);
    if (ask === undefined) continue;
    if (!hasWords(ask, copyJsonRepaired(content, "content") as Content)) throw reused(ask.refs.requestId ?? "", ref); // content is JSON
    return pastRequest(log, ask);
  }
  return undefined;
}

const ABORTED = "The signal of the request was aborted.";

function check({ directives }: { readonly directives: readonly Directive[] }, requestId: string): void {
  const refused = directives.find(({ type }) => type === "emit_request_error");
  if (refused?.type === "emit_request_error") throw notAccepted(requestId, refused.failure);
}

/** Tools that come with the ask are allowed: who narrows chooses among the agent's. */
function requestOptions(options: AskOptions<unknown>): StoredRequestOptions {
  const { contextPolicy, allowedTools, maxIterations, context, tools = {} } = options;
  const names = Object.keys(tools);
  return {
    ...(context !== undefined && { hasContext: true }),
    ...(names.length > 0 && { askedTools: names }),
    ...(contextPolicy && { contextPolicy: checkedInput(contextPolicy) }),
    ...(allowedTools && { allowedTools: [...new Set([...allowedTools, ...names])] }),
    ...(maxIterations !== undefined && { maxIterations: wholeFrom1(maxIterations) }),
  };
}

function wholeFrom1(maxIterations: number): number {
  if (Number.isSafeInteger(maxIterations) && maxIterations >= 1) return maxIterations;
  throw new RequestError({ code: "invalid_options", message: "maxIterations must be a whole number from 1." });
}

function hasWords({ payload }: Entry, content: Content): boolean {
  return sameJson((payload as JsonObject)["content"], content as JsonValue); // both are JSON
}

function keysOf({ requestId, idempotencyRef: ref, refs = {} }: AskOptions<unknown>): readonly Key[] {
  const named: readonly Key[] = requestId === undefined ? [] : [["requestId", requestId]];
  if (ref === undefined) return named;
  const value: unknown = Object.hasOwn(refs, ref) ? refs[ref] : undefined;
  if (typeof value === "string" && value !== "") return [...named, [ref, value]];
  const message = `idempotencyRef names ${JSON.stringify(ref)}, which is no text in refs. Pass refs: { ${ref}: "..." } with it.`;
  throw new RequestError({ code: "invalid_options", message });
}

function reused(requestId: string, ref: string): RequestError {
  const key = ref === "requestId" ? "requestId" : `refs.${ref}`;
  const message = `A message with this ${key} was asked before with other content. Send changed content under a new ${key}. \`result\` has the answer to the earlier one.`;
  return new RequestError({ code: "request_id_reused", requestId, message });
}

function aborted(): RequestError {
  return new RequestError({ code: "request_cancelled", message: "The signal was aborted before the ask was put." });
}
