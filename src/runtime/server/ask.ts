import { continueRefusal } from "../../agent/react/ask.ts";
import { isAsk } from "../../agent/react/restore.ts";
import { runFromAsk } from "../../agent/react/state.ts";
import type { StoredRequestOptions } from "../../agent/signal.ts";
import { newContent, UnreadablePayload } from "../../projection/transcript/payload.ts";
import { copyJsonRepaired, isPlainObject } from "../../thread/json.ts";
import type { Content, UserMessage } from "../../thread/message.ts";
import { checkName } from "../../thread/options.ts";
import { storedOptions, timeOfAsk } from "../ask-options.ts";
import { checkAuthor } from "../author.ts";
import type { Loop } from "../loop.ts";
import { askAborted, hasWords } from "../perform/prepare-ask.ts";
import type { AgentRequest } from "../request/request.ts";
import { notAccepted, RequestError } from "../request/request-error.ts";
import { branchOperation } from "./modify.ts";
import type { AnyAskOptions, AskOptions } from "./options.ts";
import { findAsk, requestNotFound } from "./past-request.ts";
import { continuedValues } from "./start.ts";

/** A ref that identifies an ask when it is repeated. */
type Key = readonly [ref: string, value: string];

/** Sends an ask. It waits until earlier asks of this server were sent. */
export async function ask(loop: Loop, given: Content | UserMessage, options: AnyAskOptions): Promise<AgentRequest> {
  const { signal, context, tools, model, headers, output, refs, owner, branch, queue } = options;
  if (signal?.aborted) throw askAborted();
  checkIds(options);
  if (queue !== undefined && typeof queue !== "boolean") throw invalidQueue();
  const keys = keysOf(options);
  const author = options.author === undefined ? {} : { author: checkAuthor(options.author) };
  const content = contentOf(given);
  if (loop.current?.state === "waiting") await loop.command({ type: "notice" }); // the thread may have been deleted
  const open = openRequest(loop, keys, { content });
  if (open !== undefined) return open; // a queued repetition would wait for its own request
  const { requestId = loop.options.ports.ids("req") } = options;
  const trace = traceOf(loop);
  const at = timeOfAsk(options.at, loop.options.ports.clock());
  const stored = storedOptions(options, loop);
  const operation = branch && (await branchOperation(loop, branch));
  const asked: StoredRequestOptions = stored instanceof Promise ? await stored : stored;
  const queues = at === undefined ? queue : true;
  const ask = {
    requestId,
    content,
    ...author,
    at,
    keys,
    operation,
    queues,
    options: { ...asked, ...trace },
    refs,
    owner,
  };
  return loop.ask(ask, { context, tools, model, headers, output, signal });
}

/**
 * Starts a request with the ask and the results of one that has ended. Values that are not stored, such as tools, are
 * made again.
 */
export async function continueRequest(loop: Loop, continues: string, options: AnyAskOptions): Promise<AgentRequest> {
  const { signal, refs, owner } = options;
  if (signal?.aborted) throw askAborted();
  if (options.branch !== undefined) throw notBranched();
  checkName("requestId", continues);
  checkIds(options);
  if (options.author !== undefined) throw noAuthor();
  const keys = keysOf(options);
  const words = { content: "", continues };
  const open = openRequest(loop, keys, words);
  if (open !== undefined) return open;
  await loop.command({ type: "notice" }); // the thread may have been deleted
  const asked = await findAsk(loop, "requestId", continues);
  const run = asked && runFromAsk(asked);
  if (run === undefined) throw requestNotFound(continues);
  const { requestId = loop.options.ports.ids("req") } = options;
  let refusal = continueRefusal(loop.agent, continues);
  // One with the same key was accepted then.
  if (refusal) for (const key of keys) if (await findAsk(loop, ...key)) refusal = undefined;
  if (refusal) throw notAccepted(requestId, refusal);
  const trace = traceOf(loop);
  const given = await continuedValues(loop, run, options);
  const { mode = run.options.mode, context, tools } = options;
  // An ask of another process brought none: the functions make them for each of its requests.
  const { hasContext, askedTools } = run.options;
  const brought = { context: hasContext ? given.context : context, tools: askedTools ? given.tools : tools };
  const at = timeOfAsk(options.at, loop.options.ports.clock());
  const stored = await storedOptions({ ...options, ...given, ...brought, mode }, loop);
  // A second call may have been prepared at the same time.
  const isRepeated = keys.length === 0 && at === undefined;
  const same = isRepeated ? (loop.continuing(continues) ?? openRequest(loop, keys, words)) : undefined;
  if (same !== undefined) return same;
  const ask = {
    requestId,
    ...words,
    at,
    ...(at !== undefined && { queues: true }),
    keys,
    options: { ...stored, ...trace },
    refs,
    owner,
  };
  return loop.ask(ask, { ...given, output: options.output, signal });
}

function checkIds({ requestId, owner }: AnyAskOptions): void {
  if (requestId !== undefined) checkName("requestId", requestId);
  if (owner !== undefined) checkName("owner", owner);
}

/** The trace of the caller, for the span of the request. */
function traceOf({ options: { telemetry } }: Loop): Pick<StoredRequestOptions, "traceparent"> {
  const traceparent = telemetry.traceparent?.();
  return traceparent === undefined ? {} : { traceparent };
}

function noAuthor(): RequestError {
  const message = "A continued request has no message of its own, so it takes no author. Ask again to say who writes.";
  return new RequestError({ code: "invalid_options", message });
}

function invalidQueue(): RequestError {
  return new RequestError({ code: "invalid_options", message: "queue must be true or false." });
}

function notBranched(): RequestError {
  const message = "A continued request stays on its lane. Leave out branch, or ask again with it.";
  return new RequestError({ code: "invalid_options", message });
}

/** The open request, if it has these keys and this content, or continues the same request. */
function openRequest(
  { agent, current }: Loop,
  keys: readonly Key[],
  words: Parameters<typeof hasWords>[1],
): AgentRequest | undefined {
  const ask = current && agent.thread.filterByRef("requestId", current.id, { partial: true }).find(isAsk);
  const isRepeated = keys.length === 0 && words.continues !== undefined; // a button was pressed twice
  const isSame = isRepeated || keys.some(([ref, value]) => ask?.refs[ref] === value);
  return ask !== undefined && hasWords(ask, words) && isSame ? current : undefined;
}

/** A copy of the content. For a message of the user, its content. */
function contentOf(given: Content | UserMessage): Content {
  const copied: unknown = copyJsonRepaired(given, "content");
  if (!isPlainObject(copied)) return readableContent(copied, "invalid_ask");
  const { role, content, ...others } = copied;
  const [unknown] = Object.keys(others);
  if (role === "user" && unknown === undefined) return readableContent(content, "invalid_ask");
  const why = role === "user" ? `the field ${unknown} is not taken` : `its role is ${JSON.stringify(role)}`;
  const message = `Pass content to ask, or a message { role: "user", content }: ${why}. For earlier messages start from a thread.`;
  throw new RequestError({ code: "invalid_ask", message });
}

/** Refuses content that no model could be shown. */
export function readableContent(content: unknown, code: "invalid_ask" | "invalid_options"): Content {
  try {
    return newContent(content);
  } catch (cause) {
    if (!(cause instanceof UnreadablePayload)) throw cause;
    const message = `No model can be shown this: ${cause.message}. A file is { type: "file", mediaType, data: { base64 } }, or has { url } as its data.`;
    throw new RequestError({ code, message, cause });
  }
}

function keysOf({ requestId, idempotencyRef: ref, refs = {} }: AskOptions<unknown>): readonly Key[] {
  const named: readonly Key[] = requestId === undefined ? [] : [["requestId", requestId]];
  if (ref === undefined) return named;
  const value: unknown = Object.hasOwn(refs, ref) ? refs[ref] : undefined;
  if (typeof value === "string" && value !== "") return [...named, [ref, value]];
  const message = `idempotencyRef names ${JSON.stringify(ref)}, which is no text in refs. Pass refs: { ${ref}: "..." } with it.`;
  throw new RequestError({ code: "invalid_options", message });
}
