import type { SteerKind } from "../../agent/signal.ts";
import { copyJson, copyJsonObject, copyJsonRepaired } from "../../thread/json.ts";
import type { Content } from "../../thread/message.ts";
import { checkAuthor } from "../author.ts";
import type { CommandSettled } from "../live/live.ts";
import type { Loop } from "../loop.ts";
import type { Receipt, ReceiptReason, SteerAnswer } from "../request/request.ts";
import { RequestError } from "../request/request-error.ts";
import { readableContent } from "./ask.ts";
import { commandRefs } from "./command-refs.ts";
import type { InjectOptions, SteerOptions } from "./options.ts";

interface SteerMessage extends SteerOptions, Pick<InjectOptions, "key" | "wake"> {
  readonly kind: SteerKind;
  readonly content: Content;
  readonly skip?: boolean | undefined;
}

/** Resolves when the message is durable, or was refused. The receipt has its end. */
export async function steer(live: Loop, message: SteerMessage): Promise<SteerAnswer> {
  const { kind, requestId, id = live.options.ports.ids("steer") } = message;
  const { refs } = commandRefs(message);
  const source = message.source?.toWellFormed();
  const author = message.author === undefined ? undefined : checkAuthor(message.author);
  const display = message.display === undefined ? undefined : copyJsonObject(message.display, "display");
  const content = checkedContent(message.content);
  copyJson(id, "steer"); // the log accepts JSON only
  const signal = {
    type: "steer" as const,
    id,
    steer: kind,
    content,
    ...(requestId !== undefined && { requestId }),
    ...(source !== undefined && { source }),
    ...(author !== undefined && { author }),
    ...(display !== undefined && { display }),
    ...(refs !== undefined && { refs }),
    ...(message.skip && { skip: true as const }),
    ...(message.key !== undefined && { key: keyOf(message.key) }),
    ...(message.wake && { wake: true as const }),
  };
  if (live.live.stopping !== undefined) {
    const reason = "closed";
    return { id, accepted: false, reason, receipt: Promise.resolve({ id, delivered: false, reason }) };
  }
  const { directives, settled } = await live.send(id, signal);
  const receipt = settled.then((end) => receiptOf(id, end));
  const settle = directives.find((directive) => directive.type === "settle");
  const isDropped = settle?.type === "settle" && settle.end.status === "dropped";
  if (!isDropped) return { id, accepted: true, receipt };
  const answer = await receipt;
  return { id, accepted: false, ...(!answer.delivered && { reason: answer.reason }), receipt };
}

function keyOf(key: unknown): string {
  if (typeof key === "string" && key !== "") return key.toWellFormed();
  throw new RequestError({ code: "invalid_options", message: "key must be text: what the message is about." });
}

export function receiptOf(id: string, { end }: CommandSettled): Receipt {
  if (end.status === "delivered") return { id, delivered: true, seq: end.seq };
  const reason = end.status === "dropped" ? end.reason : "closed";
  return { id, delivered: false, reason: reason as ReceiptReason }; // the agent and the loop use only these
}

/** A copy of the content. Content that cannot be stored is refused here, because later the request would fail. */
export function checkedContent(given: Content): Content {
  const words = readableContent(copyJsonRepaired(given, "content"), "invalid_options");
  return typeof words === "string" ? words.trim() : words;
}
