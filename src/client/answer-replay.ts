import type { UIChunk } from "../runtime/ui-messages/message.ts";

/** A text, thinking, or the input of a call, as far as it was shown. */
interface Block {
  readonly type: "text" | "reasoning" | "tool-input";
  readonly id: string;
  text: string;
  isEnded: boolean;
}

/** A block of the replay, and the one that is shown in its place. */
interface ReplayedBlock extends Block {
  readonly shown: Block | undefined;
}

interface Replay {
  steps: number;
  /** The blocks of the step that were shown before. */
  readonly before: readonly Block[];
  readonly blocks: ReplayedBlock[];
  /** The other chunks that are shown and were not replayed yet. */
  readonly others: string[];
  /** The chunks of the step that is shown last. */
  readonly chunks: UIChunk[];
}

const ENDS_STEP: ReadonlySet<string> = new Set(["start-step", "finish-step", "finish", "abort", "error"]);

/**
 * Joins the streams of one answer. After a lost connection the answer is streamed again from its first chunk, and the page must
 * show each word once. Steps that were shown whole are dropped, because a later step follows only when they are in the log. The
 * last step is compared: the rest of it is passed on, and a step that differs takes the place of the one that was shown.
 */
export class AnswerReplay {
  messageId: string | undefined;
  readonly #isFor6: boolean;
  /** The number of steps that were shown. */
  #steps: number;
  #blocks: Block[] = [];
  /** The other chunks of the last step, as text. */
  #others: string[] = [];
  #replay: Replay | undefined;
  /** The last position that the server gave, and the number of steps that were shown before it. */
  #position: { readonly id: string; readonly steps: number } | undefined;
  /** The last step began in a message that the page had before. */
  #isContinued: boolean;

  /** `steps`: those of the message that the stream continues. Client 6 cannot discard a step, so it is shown another one. */
  constructor({ isFor6 = false, steps = 0 }: { readonly isFor6?: boolean; readonly steps?: number } = {}) {
    this.#isFor6 = isFor6;
    this.#steps = steps;
    this.#isContinued = steps > 0;
  }

  /** Where the server may continue, as the id of an event. */
  get position(): string | undefined {
    return this.#position?.id;
  }

  /** The next stream begins with the first chunk of the answer, or at the position. */
  restart(): void {
    this.#replay = { steps: 0, before: [...this.#blocks], blocks: [], others: [...this.#others], chunks: [] };
  }

  /** The chunks to show for a chunk of the stream. `id`: that of its event. */
  take(chunk: UIChunk, id?: string): readonly UIChunk[] {
    const replay = this.#replay;
    if (chunk.type === "start-step" && id !== undefined) this.#position = { id, steps: replay?.steps ?? this.#steps };
    if (replay === undefined) return this.#show(chunk);
    if (chunk.type === "start") return this.#restarted(chunk, replay, id);
    if (chunk.type === "start-step") replay.steps += 1;
    const isLast = replay.steps === this.#steps;
    const before = ENDS_STEP.has(chunk.type) && this.#lacksShown(replay, chunk) ? this.#discard(replay.chunks) : [];
    if (before.length > 0) return [...before, ...this.#show(chunk)];
    if (replay.steps > this.#steps) {
      this.#replay = undefined;
      return this.#show(chunk);
    }
    if (chunk.type === "finish" || chunk.type === "abort" || chunk.type === "error") return this.#show(chunk);
    return isLast && chunk.type !== "start-step" ? this.#compare(chunk, replay) : [];
  }

  #restarted(chunk: Extract<UIChunk, { type: "start" }>, replay: Replay, id: string | undefined): readonly UIChunk[] {
    if (id !== undefined && id === this.#position?.id) replay.steps = this.#position.steps;
    if (this.messageId === undefined || chunk.messageId === this.messageId) {
      return this.messageId === undefined ? this.#show(chunk) : [];
    }
    this.#replay = undefined; // another answer
    this.#steps = 0;
    this.#forget();
    return this.#show(chunk);
  }

  /** Whether the replayed step has ended, and lacks something that the page already shows of this step. */
  #lacksShown({ steps, before, blocks, chunks }: Replay, { type }: UIChunk): boolean {
    const isLast = steps === this.#steps && type !== "start-step";
    if (!isLast && !(type === "start-step" && steps === this.#steps + 1)) return false;
    const isReplayed = (block: Block): boolean =>
      block.type === "tool-input"
        ? chunks.some((chunk) => "toolCallId" in chunk && chunk.toolCallId === block.id)
        : blocks.some(({ shown }) => shown === block);
    return this.#isContinued || !before.every(isReplayed);
  }

  #compare(chunk: UIChunk, replay: Replay): readonly UIChunk[] {
    replay.chunks.push(chunk);
    if (this.#isContinued || chunk.type === "reset-step") return this.#discard(replay.chunks);
    const part = blockPart(chunk);
    if (part === undefined) {
      const at = replay.others.indexOf(JSON.stringify(chunk));
      if (at < 0) return this.#show(chunk);
      replay.others.splice(at, 1);
      return [];
    }
    if (part.at === "start") {
      const shown = this.#counterpart(part, replay.blocks);
      replay.blocks.push({ type: part.type, id: part.id, text: "", isEnded: false, shown });
      return shown === undefined ? this.#show(chunk) : [];
    }
    const block = replay.blocks.findLast(({ type, id }) => type === part.type && id === part.id);
    if (block === undefined) return this.#show(chunk);
    block.text += part.text;
    const { shown } = block;
    if (shown === undefined) return this.#show(chunk);
    if (part.at === "end" ? shown.text === block.text : shown.text.startsWith(block.text)) {
      return part.at === "end" && !shown.isEnded ? this.#show({ ...chunk, id: shown.id } as UIChunk) : []; // the same chunk with its id
    }
    if (part.at === "end" || shown.isEnded || !block.text.startsWith(shown.text)) return this.#discard(replay.chunks);
    return this.#show(withText(chunk, shown.id, block.text.slice(shown.text.length)));
  }

  /** The block that is shown in the place of the next replayed one. Calls have ids, texts an order. */
  #counterpart({ type, id }: Pick<Block, "type" | "id">, replayed: readonly Block[]): Block | undefined {
    const ofType = this.#blocks.filter((block) => block.type === type);
    if (type === "tool-input") return ofType.find((block) => block.id === id);
    return ofType[replayed.filter((block) => block.type === type).length];
  }

  /** The step that is shown is not that of the answer: another process has asked the model again. */
  #discard(chunks: readonly UIChunk[]): readonly UIChunk[] {
    this.#replay = undefined;
    const ends = this.#blocks.flatMap(({ type, id, isEnded }): UIChunk[] =>
      isEnded || type === "tool-input" ? [] : [{ type: `${type}-end`, id }],
    );
    const emptied: readonly UIChunk[] = this.#isFor6
      ? [...ends, { type: "finish-step" }, { type: "start-step" }]
      : [{ type: "reset-step" }];
    this.#forget();
    return [...emptied, ...chunks.flatMap((chunk) => (chunk.type === "reset-step" ? [] : this.#show(chunk)))];
  }

  #forget(): void {
    this.#blocks = [];
    this.#others = [];
    this.#isContinued = false;
  }

  #show(chunk: UIChunk): readonly UIChunk[] {
    if (chunk.type === "start") this.messageId = chunk.messageId;
    if (chunk.type === "start-step") this.#steps += 1;
    if (chunk.type === "start-step" || chunk.type === "reset-step") this.#forget();
    const part = blockPart(chunk);
    if (part === undefined) {
      this.#others.push(JSON.stringify(chunk));
    } else if (part.at === "start") {
      this.#blocks.push({ type: part.type, id: part.id, text: "", isEnded: false });
    } else {
      const block = this.#blocks.findLast(({ type, id }) => type === part.type && id === part.id);
      if (block !== undefined) {
        block.text += part.text;
        block.isEnded ||= part.at === "end";
      }
    }
    return [chunk];
  }
}

interface BlockPart {
  readonly type: Block["type"];
  readonly at: "start" | "delta" | "end";
  readonly id: string;
  readonly text: string;
}

/** A chunk that begins, continues or ends a block. */
function blockPart(chunk: UIChunk): BlockPart | undefined {
  switch (chunk.type) {
    case "text-start":
    case "reasoning-start":
      return { type: wordOf(chunk.type), at: "start", id: chunk.id, text: "" };
    case "text-delta":
    case "reasoning-delta":
      return { type: wordOf(chunk.type), at: "delta", id: chunk.id, text: chunk.delta };
    case "text-end":
    case "reasoning-end":
      return { type: wordOf(chunk.type), at: "end", id: chunk.id, text: "" };
    case "tool-input-start":
      return { type: "tool-input", at: "start", id: chunk.toolCallId, text: "" };
    case "tool-input-delta":
      return { type: "tool-input", at: "delta", id: chunk.toolCallId, text: chunk.inputTextDelta };
    default:
      return undefined;
  }
}

function wordOf(type: string): "text" | "reasoning" {
  return type.startsWith("text") ? "text" : "reasoning";
}

function withText(chunk: UIChunk, id: string, text: string): UIChunk {
  if (chunk.type === "tool-input-delta") return { ...chunk, inputTextDelta: text };
  if (chunk.type === "text-delta" || chunk.type === "reasoning-delta") return { ...chunk, id, delta: text };
  return chunk;
}
