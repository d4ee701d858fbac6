import { thaw } from "../../providers/metadata.ts";
import type { Content, PartMetadata, ToolCall } from "../../thread/message.ts";
import { orderedParts } from "../../thread/messages/neutral-message.ts";
import { approvalIdOf } from "./approval-id.ts";
import { type ErrorText, toolErrorText } from "./error-text.ts";
import type { UIPart, UIToolPart } from "./message.ts";
import { metadataOf, uiPartOf, uiPartsOfUser } from "./parts.ts";
import { toolOutput } from "./tool-output.ts";

/** What the log tells of one call. */
interface Call {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  readonly metadata?: PartMetadata | undefined;
  readonly isProviders?: true;
  approval?: { readonly approved?: boolean; readonly reason?: string };
  result?: { readonly content: Content; readonly isError?: boolean };
}

interface Answer {
  readonly content: Content;
  readonly toolCalls?: readonly ToolCall[];
}

/** The message of the assistant that one request comes to, while its entries are read. */
export class SpokenMessage {
  readonly #onError: ErrorText;
  readonly #parts: (UIPart | { readonly key: string })[] = [];
  readonly #calls = new Map<string, Call>();

  constructor(onError: ErrorText) {
    this.#onError = onError;
  }

  get isEmpty(): boolean {
    return this.#parts.length === 0;
  }

  answer(callId: string | undefined, { content, toolCalls = [] }: Answer): void {
    this.#parts.push({ type: "step-start" });
    for (const piece of orderedParts({ role: "assistant", content, toolCalls })) {
      if (!("type" in piece)) this.#call(approvalIdOf(callId, piece.id), { ...piece, input: thaw(piece.arguments) });
      else if (piece.type === "provider_call") {
        const { id, name, metadata } = piece;
        this.#call(approvalIdOf(callId, id), { id, name, input: thaw(piece.arguments), metadata, isProviders: true });
      } else if (piece.type === "provider_result") {
        const { result, isError = false } = piece;
        this.result(callId, piece.id, {
          content: typeof result === "string" ? result : JSON.stringify(result),
          isError,
        });
      } else {
        const part = uiPartOf(piece);
        if (part !== undefined) this.#parts.push(part);
      }
    }
  }

  steered(id: string, content: Content): void {
    const parts = uiPartsOfUser(content);
    if (parts.length > 0) this.#parts.push({ type: "steering-message", id, parts });
  }

  /** The answer was of the wrong shape, and another one takes its place. */
  takeBack(): void {
    const start = this.#parts.findLastIndex((part) => "type" in part && part.type === "step-start");
    this.#parts.length = start + 1;
  }

  asked(callId: string | undefined, toolCallId: string): void {
    const call = this.#calls.get(approvalIdOf(callId, toolCallId));
    if (call !== undefined) call.approval ??= {};
  }

  decided(callId: string | undefined, toolCallId: string, approved: boolean, reason: string | undefined): void {
    const call = this.#calls.get(approvalIdOf(callId, toolCallId));
    if (call !== undefined) call.approval = { approved, ...(reason !== undefined && { reason }) };
  }

  /** The first result of a call is the one that counts. */
  result(callId: string | undefined, toolCallId: string, result: NonNullable<Call["result"]>): void {
    const call = this.#calls.get(approvalIdOf(callId, toolCallId));
    if (call !== undefined) call.result ??= result;
  }

  parts(): UIPart[] {
    return this.#parts.flatMap((part) => {
      if (!("key" in part)) return [part];
      const call = this.#calls.get(part.key);
      return call === undefined ? [] : [this.#toolPart(part.key, call)];
    });
  }

  #call(key: string, call: Call): void {
    this.#calls.set(key, call);
    this.#parts.push({ key });
  }

  #toolPart(id: string, call: Call): UIToolPart {
    const { approval, result, input, metadata } = call;
    const { providerMetadata: callProviderMetadata } = metadataOf(metadata);
    const part = {
      type: `tool-${call.name}` as const,
      toolCallId: call.id,
      input,
      ...(call.isProviders && { providerExecuted: true }),
      ...(callProviderMetadata && { callProviderMetadata }),
    };
    const reason = approval?.reason === undefined ? {} : { reason: approval.reason };
    if (result === undefined) {
      if (approval === undefined) return { ...part, state: "input-available" };
      const { approved } = approval;
      if (approved === undefined) return { ...part, state: "approval-requested", approval: { id } };
      return { ...part, state: "approval-responded", approval: { id, approved, ...reason } };
    }
    if (approval?.approved === false) {
      return { ...part, state: "output-denied", approval: { id, approved: false, ...reason } };
    }
    const approved = approval?.approved ? { approval: { id, approved: true, ...reason } as const } : {};
    if (!result.isError) return { ...part, state: "output-available", output: toolOutput(result.content), ...approved };
    return { ...part, state: "output-error", errorText: toolErrorText(result.content, this.#onError), ...approved };
  }
}
