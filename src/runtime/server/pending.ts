import { isoOf } from "../../agent/definition/time.ts";
import type { Steer, SteerKind } from "../../agent/signal.ts";
import type { ContextOperation } from "../../lanes/context-operation.ts";
import type { Command } from "../../stores/command.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { Refs } from "../../thread/entry.ts";
import { isPlainObject, type JsonValue } from "../../thread/json.ts";
import { type Author, type Content, hasContent } from "../../thread/message.ts";
import { checkName } from "../../thread/options.ts";
import { timeOfAsk } from "../ask-options.ts";
import { endToParent, withdrawnEnd } from "../live/children.ts";
import { contentOfRow } from "../live/inbox.ts";
import type { QueuedAsk } from "../live/live.ts";
import type { Loop } from "../loop.ts";
import { checkCommandChange } from "../option-names.ts";
import type { RuntimePorts } from "../ports.ts";
import { RequestError } from "../request/request-error.ts";
import { retryStore } from "../session/store-retry.ts";
import type { CommandChange } from "./options.ts";
import { checkedContent } from "./steer.ts";

/** A waiting command, as `pending()` lists it. The id of an ask is its `requestId`. */
export type PendingCommand =
  | {
      readonly id: string;
      readonly type: "ask";
      readonly content: Content;
      /** When its request starts, in milliseconds since 1970. Absent: in its turn. */
      readonly at?: number;
      readonly author?: Author;
      readonly refs?: Refs;
    }
  | {
      readonly id: string;
      readonly type: Exclude<SteerKind, "repair">;
      readonly content: Content;
      /** The request that gets the message. */
      readonly requestId?: string;
      readonly source?: string;
      readonly key?: string;
      readonly wake?: true;
      readonly author?: Author;
      readonly refs?: Refs;
    }
  | { readonly id: string; readonly type: "context_op"; readonly operation: ContextOperation };

interface Place {
  readonly store: ThreadStore;
  readonly ports: RuntimePorts;
  readonly threadId: string;
}

/** The waiting commands of a thread, in order. Any process may read them. */
export async function pendingCommands({ store, ports, threadId }: Place): Promise<readonly PendingCommand[]> {
  const rows = await retryStore(ports, () => store.pending(threadId));
  return rows.flatMap((row): readonly PendingCommand[] => {
    const content = contentOfRow(row);
    if (content.type === "ask") return [pendingAsk(content.ask)];
    if (content.type !== "command") return [];
    const { signal } = content;
    return [signal.type === "steer" ? pendingWords(signal) : { id: row.id, ...signal }];
  });
}

export function pendingAsk({ requestId: id, content, at, author, refs }: QueuedAsk): PendingCommand {
  const optional = { ...(at !== undefined && { at }), ...(author && { author }), ...(refs && { refs }) };
  return { id, type: "ask", content, ...optional };
}

export function pendingWords({
  id,
  steer,
  content,
  author,
  requestId,
  source,
  refs,
  key,
  wake,
}: Steer): PendingCommand {
  const optional = {
    ...(requestId !== undefined && { requestId }),
    ...(source !== undefined && { source }),
    ...(key !== undefined && { key }),
    ...(wake && { wake }),
  };
  return {
    id,
    type: steer === "repair" ? "steer" : steer,
    content,
    ...(author && { author }),
    ...optional,
    ...(refs && { refs }),
  };
}

/**
 * Replaces the content of a waiting ask or message, or the time of an ask. If it was delivered in the meantime, it is
 * `command_settled`. Resolves to whether it is an ask with a time.
 */
export async function amendCommand(
  { store, ports, threadId }: Place,
  id: string,
  given: Content | CommandChange,
): Promise<boolean> {
  checkName("id", id);
  const change: CommandChange = isPlainObject(given) ? (given as CommandChange) : { content: given as Content };
  checkCommandChange(change);
  const at = timeOfAsk(change.at, ports.clock());
  const content = change.content === undefined ? undefined : checkedContent(change.content);
  if (content !== undefined && !hasContent(content))
    throw invalid("The content is empty. To remove the command, use withdraw.");
  return retryStore(ports, async () => {
    const row = await findRow(store, threadId, id);
    const hasWords = row === undefined || row.type === "steer" || (row.type === "ask" && !("continues" in row.body));
    if (content !== undefined && !hasWords)
      throw invalid(`The command ${id} has no content that could change. Withdraw it, and send another.`);
    if (at !== undefined && row !== undefined && row.type !== "ask")
      throw invalid(`The command ${id} is not an ask. Only an ask has a time.`);
    const words = content === undefined ? {} : { content: content as JsonValue }; // a JSON copy
    const body = { ...row?.body, ...words, ...(at !== undefined && { at: isoOf(at) }) };
    await store.amend(threadId, id, body);
    return "at" in body;
  });
}

/** Withdraws a waiting command. If it was delivered in the meantime, it is `command_settled`. Resolves as `amendCommand`. */
export async function withdrawCommand({ store, ports, threadId }: Place, id: string): Promise<boolean> {
  checkName("id", id);
  return retryStore(ports, async () => {
    const row = await findRow(store, threadId, id);
    await store.withdraw(threadId, id);
    const content = row && contentOfRow(row);
    const sends = content?.type === "ask" ? endToParent(content.ask, withdrawnEnd()) : [];
    for (const { threadId: to, command } of sends) await store.post(to, command);
    return row !== undefined && "at" in row.body;
  });
}

async function findRow(store: ThreadStore, threadId: string, id: string): Promise<Command | undefined> {
  return (await store.pending(threadId)).find((one) => one.id === id);
}

/** Refuses the queued asks of a live thread, or the one with this id. Resolves to them when that is durable. */
export async function withdrawAsks(
  live: Loop,
  requestId: string | undefined,
  error: unknown,
): Promise<readonly QueuedAsk[]> {
  const ask = requestId === undefined ? {} : { requestId };
  return (await live.reply((reply) => ({ type: "withdraw", ...ask, error, reply }))) as readonly QueuedAsk[]; // as it is decided
}

/** A live thread reads its rows again. A released thread does not need them. */
export async function rereadInbox(live: Loop | undefined): Promise<void> {
  await live?.reply((reply) => ({ type: "look", reply })).catch(() => undefined);
}

/** The same, and the first ask that waits is taken. */
export async function takePosted(live: Loop | undefined): Promise<void> {
  await rereadInbox(live);
  if (live !== undefined && live.current === undefined) await live.nextAsk();
}

function invalid(message: string): RequestError {
  return new RequestError({ code: "invalid_options", message });
}
