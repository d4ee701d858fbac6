import type { Steer, SteerKind } from "../../agent/signal.ts";
import type { ContextOperation } from "../../lanes/context-operation.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { Refs } from "../../thread/entry.ts";
import type { JsonValue } from "../../thread/json.ts";
import { type Content, hasContent } from "../../thread/message.ts";
import { checkName } from "../../thread/options.ts";
import { contentOfRow } from "../live/inbox.ts";
import type { QueuedAsk } from "../live/live.ts";
import type { Loop } from "../loop.ts";
import type { RuntimePorts } from "../ports.ts";
import { RequestError } from "../request/request-error.ts";
import { retryStore } from "../session/store-retry.ts";
import { checkedContent } from "./steer.ts";

/** A waiting command, as `pending()` lists it. The id of an ask is its `requestId`. */
export type PendingCommand =
  | { readonly id: string; readonly type: "ask"; readonly content: Content; readonly refs?: Refs }
  | {
      readonly id: string;
      readonly type: Exclude<SteerKind, "repair">;
      readonly content: Content;
      /** The request that gets the message. */
      readonly requestId?: string;
      readonly source?: string;
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

export function pendingAsk({ requestId: id, content, refs }: QueuedAsk): PendingCommand {
  return { id, type: "ask", content, ...(refs && { refs }) };
}

export function pendingWords({ id, steer, content, requestId, source, refs }: Steer): PendingCommand {
  const optional = { ...(requestId !== undefined && { requestId }), ...(source !== undefined && { source }) };
  return { id, type: steer === "repair" ? "steer" : steer, content, ...optional, ...(refs && { refs }) };
}

/** Replaces the content of a waiting ask or message. If it was delivered in the meantime, it is `command_settled`. */
export async function amendCommand({ store, ports, threadId }: Place, id: string, given: Content): Promise<void> {
  checkName("id", id);
  const content = checkedContent(given);
  if (!hasContent(content)) throw invalid("The content is empty. To remove the command, use withdraw.");
  await retryStore(ports, async () => {
    const row = (await store.pending(threadId)).find((one) => one.id === id);
    const hasWords = row === undefined || row.type === "steer" || (row.type === "ask" && !("continues" in row.body));
    if (!hasWords) throw invalid(`The command ${id} has no content that could change. Withdraw it, and send another.`);
    await store.amend(threadId, id, { ...row?.body, content: content as JsonValue }); // a JSON copy
  });
}

/** Withdraws a waiting command. If it was delivered in the meantime, it is `command_settled`. */
export async function withdrawCommand({ store, ports, threadId }: Place, id: string): Promise<void> {
  checkName("id", id);
  await retryStore(ports, () => store.withdraw(threadId, id));
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

function invalid(message: string): RequestError {
  return new RequestError({ code: "invalid_options", message });
}
