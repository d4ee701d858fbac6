import { handleSteer, MAX_STEERS } from "../../agent/react/steering.ts";
import type { SteerKind } from "../../agent/signal.ts";
import { contentOf as readContent } from "../../projection/transcript/payload.ts";
import type { Entry } from "../../thread/entry.ts";
import { copyJson, copyJsonRepaired } from "../../thread/json.ts";
import type { Content } from "../../thread/message.ts";
import type { Loop } from "../loop.ts";
import type { ReceiptReason, SteerAnswer } from "../request/request.ts";
import { RequestError } from "../request/request-error.ts";
import { findOlderEntry } from "../session/load.ts";
import { commandRefs } from "./command-refs.ts";
import type { SteerOptions } from "./options.ts";

interface Words extends SteerOptions {
  readonly kind: SteerKind;
  readonly content: Content;
}

/** Answers at once whether the words are taken; the receipt tells later what became of them. */
export function steer(live: Loop, words: Words, isStopped: boolean): SteerAnswer {
  const { kind, requestId, id = live.options.ports.ids("steer") } = words;
  const { refs } = commandRefs(words);
  const source = words.source?.toWellFormed();
  const content = contentOf(words.content);
  copyJson(id, "steer"); // it goes into the log, which takes JSON only
  const signal = {
    type: "steer" as const,
    id,
    steer: kind,
    content,
    ...(requestId !== undefined && { requestId }),
    ...(source !== undefined && { source }),
    ...(refs !== undefined && { refs }),
  };
  const reason = refusal(live, signal, isStopped);
  if (reason !== undefined) {
    return { id, accepted: false, reason, receipt: Promise.resolve({ id, delivered: false, reason }) };
  }
  const receipt = live.receipts.wait(id);
  if (words.id === undefined || live.agent.thread.firstSeq === 0) live.post({ type: "agent", signal });
  else void sendIfNew(live, signal);
  return { id, accepted: true, receipt };
}

/** Words under an id of the caller's may have been delivered before what is loaded. Meanwhile the request may end. */
async function sendIfNew(live: Loop, signal: Given): Promise<void> {
  const requestId = signal.requestId ?? live.agent.state.run?.requestId; // not into the next request
  const { store, ports } = live.options;
  const { id } = signal;
  const wanted = {
    kinds: ["ai_message"],
    search: "steer",
    is: ({ refs, payload }: Entry) => refs.signalId === id && "steer" in payload,
  };
  const place = { store, ports, signal: live.stopped };
  const known = await findOlderEntry(place, live.agent.thread, wanted).catch(() => undefined); // the core fails by itself
  if (known !== undefined) live.receipts.settle(id, { id, delivered: true, seq: known.seq });
  else live.post({ type: "agent", signal: { ...signal, ...(requestId !== undefined && { requestId }) } });
}

/** The caller's words as they are now. What no log can hold is refused here: later it would be the request that fails. */
function contentOf(given: Content): Content {
  const content = copyJsonRepaired(given, "content"); // as its type says; here it is checked
  try {
    const words = readContent(content);
    return typeof words === "string" ? words.trim() : words;
  } catch (cause) {
    const message = 'The words must be text, or parts: { type: "text", text }, a file. See `cause`.';
    throw new RequestError({ code: "invalid_options", message, cause });
  }
}

type Given = Parameters<typeof handleSteer>[1];

function refusal(live: Loop, given: Given, isStopped: boolean): ReceiptReason | undefined {
  if (isStopped) return "closed";
  if (live.live.broken !== undefined) return "idle"; // the request has failed here
  const { receipts } = live;
  if (receipts.has(given.id)) return undefined; // on its way already
  // The core is asked as the session will ask it, now that the answer is wanted.
  const directive = handleSteer(live.agent, given).directives[0];
  if (directive?.type === "receipt" && !directive.delivered) return directive.reason as ReceiptReason; // the core knows no other words
  return receipts.size >= MAX_STEERS && directive === undefined ? "queue_full" : undefined; // also those it has not seen yet
}
