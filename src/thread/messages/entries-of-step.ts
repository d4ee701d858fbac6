import type { EntryInput } from "../entry.ts";
import { ThreadError } from "../errors.ts";
import { type OptionNames, refuseUnknownOptions } from "../option-names.ts";
import { portableSha256 } from "../sha256.ts";
import type { MessageFormat } from "./formats.ts";
import { entriesFrom } from "./from-messages.ts";

export interface StepOptions {
  /** The id of the model call that gave these messages: your own, new for each call. */
  readonly callId: string;
  /** Default: the one that only these messages can have, as in `Thread.fromMessages`. */
  readonly format?: MessageFormat | undefined;
  /** The model that answered, under the name given to `project`. Without it, its thinking is not sent again. Default none. */
  readonly model?: string | undefined;
  /** `meta.fingerprint` of the projection that the model was shown: vouches for its thinking. Default none. */
  readonly fingerprint?: string | undefined;
  /** Default: the lane that is active where the entries are appended. */
  readonly lane?: string | undefined;
  /** The ask that this is a step of, as a ref. Default none. */
  readonly requestId?: string | undefined;
}

const LONGEST_PART = 128;

const NAMES: OptionNames<StepOptions> = {
  callId: true,
  format: true,
  model: true,
  fingerprint: true,
  lane: true,
  requestId: true,
};

/**
 * The entries of one step of your own loop: what a model call answered, the results of its tools, or both. Their ids are made of
 * `callId` and the ids of the tool calls, so an append that is repeated lands once. `openCalls` says which calls have no result.
 *
 * @example
 * const message = { role: "assistant", content: "4" };
 * const entries = entriesOfStep([message], { callId: "call_1", format: "openai-chat", model: "openai:gpt-5" });
 * console.log(entries[0]?.id); // call_1:0
 */
export function entriesOfStep(messages: readonly unknown[], options: StepOptions): readonly EntryInput[] {
  refuseUnknownOptions("entriesOfStep", options, NAMES);
  const { callId, format, model, fingerprint, lane, requestId } = options;
  if (typeof callId !== "string" || callId === "") {
    const message = "options.callId must be an id: your own for this model call, such as a UUID made before it.";
    throw new ThreadError({ code: "invalid_options", path: "options.callId", message });
  }
  const call = { ...(model !== undefined && { model }), ...(fingerprint !== undefined && { fingerprint }) };
  const place = lane === undefined ? {} : { contextRef: lane };
  const ref = { callId, ...(requestId !== undefined && { requestId }) };
  let said = 0;
  return entriesFrom(messages, format, () => callId, true).map(({ payload = {}, refs, ...entry }) => {
    const isAnswer = payload["role"] === "assistant";
    const { toolCallId } = payload;
    return {
      ...entry,
      id: typeof toolCallId === "string" ? `${callId}:result:${partOfId(toolCallId)}` : `${callId}:${said++}`,
      payload: { ...payload, ...place, ...(isAnswer && Object.keys(call).length > 0 && { call }) },
      refs: { ...refs, ...ref },
    };
  });
}

/** Some servers put slashes, or kilobytes, into the ids of calls; ids of entries take neither. */
function partOfId(toolCallId: string): string {
  const part = encodeURIComponent(toolCallId);
  return part.length <= LONGEST_PART ? part : portableSha256(toolCallId);
}
