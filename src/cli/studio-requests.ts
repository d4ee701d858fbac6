import type { ContextPolicyInput } from "../projection/policy/fields.ts";
import { CallError } from "../runtime/calls/find-call.ts";
import type { CallDetail, CallRow, SteerResult, ThreadView } from "../studio/contract.ts";
import type { JsonValue } from "../thread/json.ts";
import { count } from "./output.ts";
import type { StudioClient } from "./studio-client.ts";

/** Returns the API path of a thread, or of a part of the thread. */
export function pathOf(threadId: string, ...more: readonly string[]): string {
  return ["/api/threads", ...[threadId, ...more].map(encodeURIComponent)].join("/");
}

/** Finds a model call by its id, or by `last`. `last~2` means two calls before the last. Default: `last`. */
export async function findCall(
  client: StudioClient,
  threadId: string,
  given = "last",
): Promise<CallRow | { callId: string }> {
  const back = /^last(?:~(\d{1,3}))?$/.exec(given);
  if (back === null) return { callId: given };
  const index = Number(back[1] ?? 0);
  const limit = Math.min(500, index + 1);
  const { calls } = await client.get<{ calls: readonly CallRow[] }>(pathOf(threadId, "calls"), { limit });
  const found = calls[index];
  if (found !== undefined) return found;
  const there =
    calls.length === 0 ? "No model was called in this thread" : `This thread has ${count(calls.length, "call")}`;
  throw new CallError({ code: "call_not_found", message: `${there}, so there is no ${given}.` });
}

export async function loadCall(client: StudioClient, threadId: string, given: string | undefined): Promise<CallDetail> {
  const call = await findCall(client, threadId, given);
  const seq = "seq" in call ? call.seq : undefined;
  return client.get<CallDetail>(pathOf(threadId, "calls", call.callId), { seq });
}

interface ViewOptions {
  readonly atSeq?: number | undefined;
  readonly lane?: string | undefined;
  readonly policy?: ContextPolicyInput | undefined;
  readonly system?: string | undefined;
  readonly tools?: JsonValue | undefined;
  readonly model?: string | undefined;
  /** Whether to ignore the environment and policy of the last call. Default: false. */
  readonly isBare?: boolean | undefined;
}

/** Loads the context that a model would get. Options that are missing come from the last call before that entry. */
export async function loadView(client: StudioClient, threadId: string, options: ViewOptions): Promise<ThreadView> {
  const { atSeq, isBare = false, ...given } = options;
  const last = isBare ? undefined : await lastCall(client, threadId, atSeq);
  const { environment, policy, record } = last ?? {};
  const usual = {
    policy: policy ?? {},
    system: environment?.systemPrompt ?? "",
    tools: environment?.tools ?? [],
    model: record?.model,
  };
  const explicit = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return client.post<ThreadView>(pathOf(threadId, "view"), { atSeq, ...usual, ...explicit });
}

async function lastCall(
  client: StudioClient,
  threadId: string,
  atSeq: number | undefined,
): Promise<CallDetail | undefined> {
  const before = atSeq === undefined ? undefined : atSeq + 1;
  const { calls } = await client.get<{ calls: readonly CallRow[] }>(pathOf(threadId, "calls"), { limit: 1, before });
  const [call] = calls;
  if (call === undefined) return undefined;
  return client.get<CallDetail>(pathOf(threadId, "calls", call.callId), { seq: call.seq });
}

/** Text for a running request. */
export interface SteerText {
  readonly content: string;
  readonly kind: "steer" | "follow_up" | "inject";
  readonly source?: string | undefined;
  readonly requestId?: string | undefined;
}

/**
 * Sends text to the running request. The server answers 409 for text that it does not accept, which is not an error
 * here.
 */
export function sendSteer(client: StudioClient, threadId: string, text: SteerText): Promise<SteerResult> {
  return client.post<SteerResult>(pathOf(threadId, "steer"), text, [409]);
}

const REASONS: { readonly [reason: string]: string } = {
  idle: "no request is running in this thread",
  request_mismatch: "another request is running",
  queue_full: "too many messages are waiting already",
  pending_overflow: "the text does not fit into the context",
  empty_content: "the text is empty",
  closed: "the request is ending",
};

/** Describes in words why a text was not delivered. */
export function reasonText(reason: string | undefined): string {
  return (reason === undefined ? undefined : REASONS[reason]) ?? reason ?? "the reason is unknown";
}

/** One message of an event stream. */
interface EventStreamMessage {
  readonly event: string;
  readonly data: string;
  readonly id: string | undefined;
}

/** Yields the messages of a stream as they arrive. Comments and an incomplete last message are skipped. */
export async function* messagesIn(body: ReadableStream<Uint8Array>): AsyncGenerator<EventStreamMessage, void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const parts = `${rest}${decoder.decode(chunk, { stream: true })}`.split("\n\n");
    rest = parts.pop() ?? "";
    for (const part of parts) {
      const message = messageIn(part);
      if (message !== undefined) yield message;
    }
  }
}

function messageIn(text: string): EventStreamMessage | undefined {
  const lines = text.split("\n");
  const field = (name: string): string | undefined =>
    lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
  const data = field("data");
  return data === undefined ? undefined : { event: field("event") ?? "message", data, id: field("id") };
}
