import type { EventData } from "../../agent/event.ts";
import type { UIChunk } from "./chunk.ts";

interface Block {
  readonly type: "text" | "thinking";
  readonly id: string;
  text: string;
}

type Delta = EventData["llm_delta"];

/** One answer of the model as far as it was streamed. Events tell no end of a block: another one's beginning is its end. */
export class StreamedAnswer {
  readonly #ids: (type: Block["type"]) => string;
  readonly #sendReasoning: boolean;
  readonly #blocks: Block[] = [];
  readonly #inputs = new Set<string>();
  /** The block that is open, and the id that the model gave it. */
  #open: { readonly block: Block; readonly id: string } | undefined;

  constructor(ids: (type: Block["type"]) => string, sendReasoning: boolean) {
    this.#ids = ids;
    this.#sendReasoning = sendReasoning;
  }

  get saysSomething(): boolean {
    return this.#blocks.length > 0 || this.#inputs.size > 0;
  }

  delta({ type, id, text }: Delta, toolCallId = "", toolName = ""): readonly UIChunk[] {
    if (type === "tool_input") return this.#input(toolCallId, toolName, text);
    if (type === "thinking" && !this.#sendReasoning) return [];
    const isOpen = this.#open?.block.type === type && this.#open.id === id;
    const before = isOpen ? [] : [...this.close(), this.#begin(type, id)];
    const open = this.#open?.block;
    if (open === undefined) return before;
    open.text += text;
    return [...before, { type: `${wordFor(type)}-delta`, id: open.id, delta: text }];
  }

  /** Ends the block that is open. */
  close(): readonly UIChunk[] {
    if (this.#open === undefined) return [];
    const { type, id } = this.#open.block;
    this.#open = undefined;
    return [{ type: `${wordFor(type)}-end`, id }];
  }

  /** The whole answer is there: what was streamed of it is completed, or said anew where it is not how it came. */
  complete({ text, toolCalls }: Pick<EventData["llm_completed"], "text" | "toolCalls">): readonly UIChunk[] {
    const ended = this.close();
    const ids = new Set(toolCalls.map(({ id }) => id));
    const streamed = this.#blocks.map((block) => (block.type === "text" ? block.text : "")).join("");
    const isWrong = (streamed !== "" && streamed !== text) || !this.#inputs.isSubsetOf(ids);
    const calls = toolCalls.map(({ id, name, arguments: input }): UIChunk => {
      return { type: "tool-input-available", toolCallId: id, toolName: name, input };
    });
    if (!isWrong) return [...ended, ...(streamed === "" ? this.#whole("text", text) : []), ...calls];
    const thinking = this.#blocks.flatMap((block) =>
      block.type === "thinking" ? this.#whole("thinking", block.text) : [],
    );
    return [...ended, { type: "reset-step" }, ...thinking, ...this.#whole("text", text), ...calls];
  }

  #input(toolCallId: string, toolName: string, inputTextDelta: string): readonly UIChunk[] {
    if (toolCallId === "") return []; // it gets its id when the answer is complete
    const isKnown = this.#inputs.has(toolCallId);
    this.#inputs.add(toolCallId);
    const start: readonly UIChunk[] = isKnown ? [] : [{ type: "tool-input-start", toolCallId, toolName }];
    return [...this.close(), ...start, { type: "tool-input-delta", toolCallId, inputTextDelta }];
  }

  #begin(type: Block["type"], id: string): UIChunk {
    const block: Block = { type, id: this.#ids(type), text: "" };
    this.#blocks.push(block);
    this.#open = { block, id };
    return { type: `${wordFor(type)}-start`, id: block.id };
  }

  #whole(type: Block["type"], text: string): readonly UIChunk[] {
    if (text === "") return [];
    const id = this.#ids(type);
    const word = wordFor(type);
    return [
      { type: `${word}-start`, id },
      { type: `${word}-delta`, id, delta: text },
      { type: `${word}-end`, id },
    ];
  }
}

function wordFor(type: Block["type"]): "text" | "reasoning" {
  return type === "text" ? "text" : "reasoning";
}
