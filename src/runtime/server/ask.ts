import { isAsk } from "../../agent/react/restore.ts";
import { runFromAsk } from "../../agent/react/state.ts";
import { copyJsonRepaired, isPlainObject } from "../../thread/json.ts";
import type { Content, UserMessage } from "../../thread/message.ts";
import { checkName } from "../../thread/options.ts";
import type { Loop } from "../loop.ts";
import { askAborted, hasWords } from "../perform/prepare-ask.ts";
import type { AgentRequest } from "../request/request.ts";
import { RequestError, requestReused } from "../request/request-error.ts";
import type { AnyAskOptions, AskOptions } from "./options.ts";
import { findAsk, pastRequest, type RequestLog, requestNotFound } from "./past-request.ts";
import { givenBefore } from "./start.ts";
import { storedOptions } from "./stored-options.ts";

/** A ref by which an ask is known when it is asked again. */
type Key = readonly [ref: string, value: string];

/** Asks, after what is asked before it. */
export async function ask(loop: Loop, given: Content | UserMessage, options: AnyAskOptions): Promise<AgentRequest> {
  const { signal, context, tools, model, headers, output, refs } = options;
  if (signal?.aborted) throw askAborted();
  if (options.requestId !== undefined) checkName("requestId", options.requestId);
  const keys = keysOf(options);
  const content = contentOf(given);
  const open = openRequest(loop, keys, { content });
  if (open !== undefined) return open; // in a queue it would wait for its own end
  const { requestId = loop.options.ports.ids("req") } = options;
  const ask = { requestId, content, keys, options: await storedOptions(options, loop), refs };
  return loop.ask(ask, { context, tools, model, headers, output, signal });
}

/** Starts a request on the ask and the results of one that has ended. What was given with it and is not stored is made again. */
export async function continueRequest(loop: Loop, continues: string, options: AnyAskOptions): Promise<AgentRequest> {
  const { signal, refs } = options;
  if (signal?.aborted) throw askAborted();
  checkName("requestId", continues);
  if (options.requestId !== undefined) checkName("requestId", options.requestId);
  const keys = keysOf(options);
  const words = { content: "", continues };
  const open = openRequest(loop, keys, words);
  if (open !== undefined) return open;
  await loop.mend();
  const asked = await findAsk(loop, "requestId", continues);
  const run = asked && runFromAsk(asked);
  if (run === undefined) throw requestNotFound(continues);
  if (loop.agent.state.run?.requestId === continues) throw stillRunning(continues); // in a queue it would wait for its own end
  const { requestId = loop.options.ports.ids("req") } = options;
  const given = await givenBefore(loop, run, options);
  const { mode = run.options.mode } = options;
  const stored = await storedOptions({ ...options, ...given, mode }, loop);
  return loop.ask({ requestId, ...words, keys, options: stored, refs }, { ...given, output: options.output, signal });
}

function stillRunning(requestId: string): RequestError {
  const message = "The request has not ended. Wait for it, or cancel it first.";
  return new RequestError({ code: "request_running", requestId, retryable: true, message });
}

/** The open request, if these are its keys and words. */
function openRequest(
  { agent, current }: Loop,
  keys: readonly Key[],
  words: Parameters<typeof hasWords>[1],
): AgentRequest | undefined {
  const ask = current && agent.thread.filterByRef("requestId", current.id, { partial: true }).find(isAsk);
  return ask !== undefined && hasWords(ask, words) && keys.some(([ref, value]) => ask.refs[ref] === value)
    ? current
    : undefined;
}

/**
 * A request that was asked with these keys before, on a thread that another process holds: one that has ended, from the log.
 * One that is open rejects with `request_suspended`.
 */
export async function askedBefore(
  log: RequestLog,
  given: Content | UserMessage,
  options: AskOptions<unknown>,
): Promise<AgentRequest | undefined> {
  const content = contentOf(given);
  for (const [ref, value] of keysOf(options)) {
    const ask = await findAsk(log, ref, value);
    if (ask === undefined) continue;
    if (!hasWords(ask, { content })) throw requestReused(ask.refs.requestId ?? "", ref);
    return pastRequest(log, ask);
  }
  return undefined;
}

/** The content as it is now. A message of the user is taken as its content. */
function contentOf(given: Content | UserMessage): Content {
  const copied: unknown = copyJsonRepaired(given, "content");
  if (!isPlainObject(copied)) return copied as Content; // JSON; the agent checks its form
  const { role, content, ...others } = copied;
  const [unknown] = Object.keys(others);
  if (role === "user" && unknown === undefined) return content as Content; // as above
  const why = role === "user" ? `the field ${unknown} is not taken` : `its role is ${JSON.stringify(role)}`;
  const message = `An ask takes content, or a message { role: "user", content }: ${why}. For earlier messages start from a thread.`;
  throw new RequestError({ code: "invalid_ask", message });
}

function keysOf({ requestId, idempotencyRef: ref, refs = {} }: AskOptions<unknown>): readonly Key[] {
  const named: readonly Key[] = requestId === undefined ? [] : [["requestId", requestId]];
  if (ref === undefined) return named;
  const value: unknown = Object.hasOwn(refs, ref) ? refs[ref] : undefined;
  if (typeof value === "string" && value !== "") return [...named, [ref, value]];
  const message = `idempotencyRef names ${JSON.stringify(ref)}, which is no text in refs. Pass refs: { ${ref}: "..." } with it.`;
  throw new RequestError({ code: "invalid_options", message });
}
