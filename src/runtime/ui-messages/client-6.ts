import type { UIChunk, UIChunk6 } from "./chunk.ts";

/** Rewrites a stream for a client of AI SDK 6, which ends in an error at a chunk that it does not know. */
export class Client6Chunks {
  readonly #openBlocks = new Map<string, "text" | "reasoning">();
  /** Calls whose input has begun and is not complete, and their tools. */
  readonly #partialCalls = new Map<string, string>();
  readonly #calls = new Map<string, Extract<UIChunk6, { type: "tool-input-available" }>>();
  /** The calls of the approvals that this stream has requested. */
  readonly #requested = new Map<string, string>();

  rewrite(chunk: UIChunk): readonly UIChunk6[] {
    switch (chunk.type) {
      case "text-start":
        this.#openBlocks.set(chunk.id, "text");
        return [chunk];
      case "reasoning-start":
        this.#openBlocks.set(chunk.id, "reasoning");
        return [chunk];
      case "text-end":
      case "reasoning-end":
        this.#openBlocks.delete(chunk.id);
        return [chunk];
      case "tool-input-start":
        this.#partialCalls.set(chunk.toolCallId, chunk.toolName);
        return [chunk];
      case "tool-input-available":
        this.#partialCalls.delete(chunk.toolCallId);
        this.#calls.set(chunk.toolCallId, chunk);
        return [chunk];
      case "tool-approval-request":
        this.#requested.set(chunk.approvalId, chunk.toolCallId);
        return [chunk];
      case "tool-approval-response":
        return chunk.approved ? this.#running(chunk.approvalId) : [];
      case "steering-message":
        return [{ type: "data-steering-message", id: chunk.id, data: { parts: chunk.parts } }];
      case "reset-step":
        return this.#newStep();
      case "finish":
        return [{ ...chunk, finishReason: chunk.finishReason === "interrupted" ? "other" : chunk.finishReason }];
      default:
        return [chunk];
    }
  }

  /** An approval from elsewhere: announced once more, the call does not wait any longer. A page keeps its own approval. */
  #running(approvalId: string): readonly UIChunk6[] {
    const call = this.#calls.get(this.#requested.get(approvalId) ?? "");
    return call === undefined ? [] : [call];
  }

  /** Version 6 cannot take back what it has shown: it is closed, and what takes its place is a step of its own. */
  #newStep(): readonly UIChunk6[] {
    const ends = [...this.#openBlocks].map(([id, type]): UIChunk6 => ({ type: `${type}-end`, id }));
    const errors = [...this.#partialCalls].map(([toolCallId, toolName]): UIChunk6 => {
      return { type: "tool-input-error", toolCallId, toolName, input: {}, errorText: "This call was not made." };
    });
    this.#openBlocks.clear();
    this.#partialCalls.clear();
    return [...ends, ...errors, { type: "finish-step" }, { type: "start-step" }];
  }
}
