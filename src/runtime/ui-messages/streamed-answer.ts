import type { EventData } from "../../agent/event.ts";
import { isProviderExecuted, type Part, type ToolCall } from "../../thread/message.ts";
import { orderedParts } from "../../thread/messages/neutral-message.ts";
import type { ErrorText, UIChunk, UICustomPart, UIFilePart, UISourcePart } from "./message.ts";
import { toolErrorText, uiPartOfAnswer } from "./message.ts";

interface Block {
  readonly type: "text" | "thinking";
  readonly id: string;
  text: string;
}

type Delta = EventData["llm_delta"];

/** A piece of an answer that was streamed: a block, the input of a call, or what comes as a whole. */
type Streamed =
  | Block
  | { readonly type: "input"; readonly toolCallId: string }
  | { readonly type: "whole"; readonly chunk: UIChunk };

/** A piece of the complete answer. A piece was streamed if its `place` was. A result has none. */
interface Piece {
  readonly place: string | undefined;
  readonly chunks: readonly UIChunk[];
  readonly isCall?: true;
}

type Complete = Pick<EventData["llm_completed"], "text" | "content" | "toolCalls">;

/** How an answer is shown. */
export interface AnswerView {
  readonly ids: (type: Block["type"]) => string;
  readonly sendReasoning: boolean;
  readonly onError: ErrorText;
  /** The calls of providers in the message so far. A result without its call would end the stream of a client. */
  readonly provided: Set<string>;
  /** Whether the client is of AI SDK 6. Such a client shows a step twice when the step is sent a second time. */
  readonly isFor6: boolean;
}

/** The streamed part of an answer. There is no block-end event; a block ends when the next one starts. */
export class StreamedAnswer {
  readonly #view: AnswerView;
  readonly #streamed: Streamed[] = [];
  /** The block that is open, and the id that the model gave it. */
  #open: { readonly block: Block; readonly id: string } | undefined;

  constructor(view: AnswerView) {
    this.#view = view;
  }

  get hasContent(): boolean {
    return this.#streamed.length > 0;
  }

  delta({ type, id, text }: Delta, toolCallId = "", toolName = ""): readonly UIChunk[] {
    if (type === "tool_input") return this.#input(toolCallId, toolName, text);
    if (type === "thinking" && !this.#view.sendReasoning) return [];
    if (type !== "text" && type !== "thinking") {
      const value: unknown = JSON.parse(text); // written by us
      const whole =
        type === "part" ? this.#part(value as Part) : this.#provided({ type, text, value }, { toolCallId, toolName });
      for (const chunk of whole) this.#streamed.push({ type: "whole", chunk });
      return whole.length === 0 ? [] : [...this.close(), ...whole];
    }
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

  /** Completes what was streamed with the whole answer. Where the two differ, the step is sent again. */
  complete(answer: Complete): readonly UIChunk[] {
    const ended = this.close();
    const pieces = this.#piecesOf(answer);
    const wanted = pieces.flatMap(({ place }) => place ?? []);
    const sent = this.#streamed.flatMap((one) => placeOf(one) ?? []);
    const isBeginning = sent.every((place, index) => place === wanted[index]);
    const isOther = this.#isOther(answer);
    if (!isBeginning && (isOther || !this.#view.isFor6)) {
      return [...ended, { type: "reset-step" }, ...pieces.flatMap(({ chunks }) => chunks)];
    }
    const placed = pieces.filter(({ place }) => place !== undefined);
    const isSent = (piece: Piece): boolean =>
      isBeginning ? placed.indexOf(piece) < sent.length : sent.some((place) => place === piece.place);
    const rest = placed.filter((piece) => piece.isCall || !isSent(piece));
    return [...ended, ...rest.flatMap(({ chunks }) => chunks)];
  }

  /** Whether another text or other calls were streamed, not only the same in another order. */
  #isOther({ text, toolCalls }: Complete): boolean {
    const streamed = this.#textSoFar();
    const ids = new Set(toolCalls.map(({ id }) => id));
    const inputs = this.#streamed.flatMap((one) => (one.type === "input" ? [one.toolCallId] : []));
    return (streamed !== "" && streamed !== text) || !inputs.every((id) => ids.has(id));
  }

  #textSoFar(): string {
    return this.#streamed.map((one) => (one.type === "text" ? one.text : "")).join("");
  }

  #piecesOf({ text, content, toolCalls }: Complete): readonly Piece[] {
    const { sendReasoning } = this.#view;
    const called = ({ id, name, arguments: input }: ToolCall): Piece => {
      const chunks = [{ type: "tool-input-available", toolCallId: id, toolName: name, input } as const];
      return { place: `call ${id}`, chunks, isCall: true };
    };
    if (content === undefined) {
      const isSame = this.#textSoFar() === text;
      const before = this.#streamed.flatMap((one): readonly Piece[] => {
        if (one.type === "text") return isSame ? [this.#block(one.type, one.text)] : [];
        if (one.type === "thinking") return [this.#block(one.type, one.text)];
        if (one.type === "whole") return [{ place: placeOf(one), chunks: [one.chunk] }];
        return one.type === "input" ? toolCalls.filter(({ id }) => id === one.toolCallId).map(called) : [];
      });
      const known = new Set(before.map(({ place }) => place));
      const others = toolCalls.map(called).filter(({ place }) => !known.has(place));
      return [...before, ...(isSame || text === "" ? [] : [this.#block("text", text)]), ...others];
    }
    return orderedParts({ role: "assistant", content, toolCalls }).flatMap((part): readonly Piece[] => {
      if (!("type" in part)) return [called(part)];
      if (part.type === "thinking" && !sendReasoning) return [];
      if (part.type === "text" || part.type === "thinking")
        return part.text === "" ? [] : [this.#block(part.type, part.text)];
      if (isProviderExecuted(part)) {
        const isCall = part.type === "provider_call";
        const type = isCall || !part.isError ? part.type : "provider_error";
        const value = isCall ? part.arguments : part.result;
        const of = { toolCallId: part.id, toolName: part.name };
        return this.#provided({ type, text: JSON.stringify(value), value }, of).map((chunk) => ({
          place: isCall ? JSON.stringify(chunk) : undefined,
          chunks: [chunk],
        }));
      }
      return this.#part(part).map((chunk) => ({ place: JSON.stringify(chunk), chunks: [chunk] }));
    });
  }

  #block(type: Block["type"], text: string): Piece {
    const id = this.#view.ids(type);
    const word = wordFor(type);
    const chunks: readonly UIChunk[] = [
      { type: `${word}-start`, id },
      { type: `${word}-delta`, id, delta: text },
      { type: `${word}-end`, id },
    ];
    return { place: `${type} ${text}`, chunks };
  }

  #part(part: Part): readonly UIChunk[] {
    const made = uiPartOfAnswer(part);
    return made?.type === "file" || made?.type.startsWith("source-") || made?.type === "custom"
      ? [made as UIFilePart | UISourcePart | UICustomPart] // the types of the line above
      : [];
  }

  #provided(
    { type, text, value }: { readonly type: ProvidedType; readonly text: string; readonly value: unknown },
    { toolCallId, toolName }: { readonly toolCallId: string; readonly toolName: string },
  ): readonly UIChunk[] {
    const call = { toolCallId, providerExecuted: true } as const;
    if (type === "provider_call") {
      this.#view.provided.add(toolCallId);
      return [{ type: "tool-input-available", ...call, toolName, input: value }];
    }
    if (!this.#view.provided.has(toolCallId)) return [];
    if (type === "provider_result") return [{ type: "tool-output-available", ...call, output: value }];
    const errorText = toolErrorText(typeof value === "string" ? value : text, this.#view.onError);
    return [{ type: "tool-output-error", ...call, errorText }];
  }

  #input(toolCallId: string, toolName: string, inputTextDelta: string): readonly UIChunk[] {
    if (toolCallId === "") return []; // it gets its id when the answer is complete
    const isKnown = this.#streamed.some((one) => one.type === "input" && one.toolCallId === toolCallId);
    if (!isKnown) this.#streamed.push({ type: "input", toolCallId });
    const start: readonly UIChunk[] = isKnown ? [] : [{ type: "tool-input-start", toolCallId, toolName }];
    return [...this.close(), ...start, { type: "tool-input-delta", toolCallId, inputTextDelta }];
  }

  #begin(type: Block["type"], id: string): UIChunk {
    const block: Block = { type, id: this.#view.ids(type), text: "" };
    this.#streamed.push(block);
    this.#open = { block, id };
    return { type: `${wordFor(type)}-start`, id: block.id };
  }
}

type ProvidedType = "provider_call" | "provider_result" | "provider_error";

/** Where a streamed piece is among those of the answer. Results are shown in their calls. */
function placeOf(one: Streamed): string | undefined {
  if (one.type === "input") return `call ${one.toolCallId}`;
  if (one.type !== "whole") return `${one.type} ${one.text}`;
  return one.chunk.type.startsWith("tool-output-") ? undefined : JSON.stringify(one.chunk);
}

function wordFor(type: Block["type"]): "text" | "reasoning" {
  return type === "text" ? "text" : "reasoning";
}
