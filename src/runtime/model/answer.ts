import type { ModelAnswer, ModelFinishReason, Usage } from "../../agent/model-call.ts";
import { type JsonObject, type JsonValue, sameJson } from "../../thread/json.ts";
import { type Content, isProviderExecuted, type Part, type PartMetadata, type ToolCall } from "../../thread/message.ts";
import { ModelError } from "./failure.ts";
import { plainJson, plainMetadata, plainObject, plainText, type RawPart } from "./provider-values.ts";
import type { ModelSpec } from "./specification.ts";

/** The content of one position of an answer. */
type Slot = Block | { readonly type: "call"; readonly call: ToolCall } | { readonly type: "part"; part: Part };

type AnswerContent = Pick<ModelAnswer, "content" | "toolCalls">;

const BLOCK_EVENTS = /^(text|reasoning)-(start|delta|end)$/;

/** Builds an answer from the parts of a stream. Blocks keep the order in which they started; they may overlap, and have ids. */
export class AnswerBuilder {
  readonly #spec: ModelSpec;
  readonly #model: AnswerModel;
  readonly #slots: Slot[] = [];
  readonly #open = new Map<string, Block>();
  readonly #inputs = new Map<string, { readonly name: string; readonly text: WellFormedText }>();

  constructor(spec: ModelSpec, model: AnswerModel) {
    this.#spec = spec;
    this.#model = model;
  }

  /** Adds a part of a stream, and returns the new text. Parts of unknown types are ignored. */
  take(part: RawPart): ModelDelta | undefined {
    const [, kind, step] = BLOCK_EVENTS.exec(part.type) ?? [];
    if (kind !== undefined) return this.#takeStep(kind === "text" ? "text" : "thinking", step, part);
    if (part.type.startsWith("tool-input-")) return this.#takeInput(part);
    return this.takeWhole(part);
  }

  /** Adds a part of an answer that is not streamed in pieces. Returns it, unless it is text or a call of the model. */
  takeWhole(part: RawPart): ModelDelta | undefined {
    if (part.type === "text" || part.type === "reasoning") {
      const block = new Block(part.type === "text" ? "text" : "thinking");
      block.end({ ...part, delta: part["text"] });
      this.#slots.push(block);
    } else if (part.type === "tool-call" && part["providerExecuted"] !== true) {
      this.#slots.push({ type: "call", call: callIn(part) });
    } else {
      const whole = wholePart(part, this.#spec, `${this.#model.provider}:${this.#model.model}`);
      this.#addPart(whole);
      return whole && wholeDelta(whole);
    }
    return undefined;
  }

  /** Whether the answer has any text so far. */
  get hasText(): boolean {
    return this.#slots.some((slot) => slot.type === "text" && slot.hasText);
  }

  /** The answer so far. Thinking that has not ended is left out: it has no signature, so no provider accepts it. */
  content({ finished }: { readonly finished: boolean }): AnswerContent {
    const calls = this.#slots.filter((slot) => slot.type === "call");
    const toolCalls = withUniqueIds(calls.map(({ call }) => call));
    const ids = new Map(calls.map((slot, index) => [slot, toolCalls[index]?.id ?? ""])); // one call for each slot
    const parts = this.#slots.flatMap((slot): readonly Part[] => {
      if (slot.type === "call") return [{ type: "tool_call", id: ids.get(slot) ?? "" }];
      if (slot.type === "part") return [slot.part];
      const part = finished || slot.ended || slot.type === "text" ? slot.toPart(this.#model) : undefined;
      return part === undefined ? [] : [part];
    });
    return { content: contentOf(parts), toolCalls };
  }

  /** The part of a failed answer that is kept: no tool calls, because they must not run, and no unfinished provider calls. */
  partial(): Content {
    const { content } = this.content({ finished: false });
    if (typeof content === "string") return content;
    const done = new Set(content.map((part) => (part.type === "provider_result" ? part.id : undefined)));
    return contentOf(
      content.filter((part) => part.type !== "tool_call" && (part.type !== "provider_call" || done.has(part.id))),
    );
  }

  #takeStep(type: Block["type"], step: string | undefined, part: RawPart): ModelDelta | undefined {
    const id = plainText(part["id"]);
    const key = `${type} ${id}`;
    const opened = step === "start" ? undefined : this.#open.get(key); // another block may use the same id
    const block = opened ?? new Block(type);
    if (opened === undefined) {
      this.#slots.push(block);
      this.#open.set(key, block);
    }
    const text = step === "end" ? block.end(part) : block.add(part);
    return text === "" ? undefined : { type, id, text };
  }

  #takeInput(part: RawPart): ModelDelta | undefined {
    const id = plainText(part["id"]);
    if (part.type === "tool-input-start") {
      if (part["providerExecuted"] === true) return undefined; // the whole call follows
      this.#inputs.set(id, { name: plainText(part["toolName"]), text: new WellFormedText() });
      return undefined;
    }
    const input = this.#inputs.get(id);
    const { delta } = part;
    if (input === undefined || typeof delta !== "string") return undefined;
    const text = input.text.push(delta);
    return text === "" ? undefined : { type: "tool_input", id, text, toolCallId: id, toolName: input.name };
  }

  /** A tool of the provider may send preliminary results. Each replaces the one before. */
  #addPart(part: Part | undefined): void {
    if (part === undefined) return;
    const before = part.type === "provider_result" ? this.#resultOf(part.id) : undefined;
    if (before === undefined) this.#slots.push({ type: "part", part });
    else before.part = part;
  }

  #resultOf(id: string): { part: Part } | undefined {
    for (const slot of this.#slots) {
      if (slot.type === "part" && slot.part.type === "provider_result" && slot.part.id === id) return slot;
    }
    return undefined;
  }
}

/** Calls at the end need no part, because prompts put them there anyway. A single text needs no list of parts. */
function contentOf(parts: readonly Part[]): Content {
  const end = parts.findLastIndex(({ type }) => type !== "tool_call") + 1;
  const [only, ...others] = parts.slice(0, end);
  if (only === undefined) return "";
  const plain = only.type === "text" && only.metadata === undefined && others.length === 0;
  return plain ? only.text : [only, ...others];
}

/** The model that wrote an answer. Only the same model can read its thinking again. */
export interface AnswerModel {
  readonly provider: string;
  readonly model: string;
}

/** A block of text or thinking while it is streamed. */
export class Block {
  readonly type: "text" | "thinking";
  ended = false;
  readonly #pieces = new WellFormedText();
  #text = "";
  #metadata: PartMetadata | undefined;

  constructor(type: Block["type"]) {
    this.type = type;
  }

  /** Adds a start, a delta or an end, and returns the new text. */
  add(part: RawPart): string {
    const { delta } = part;
    this.#metadata = mergedMetadata(this.#metadata, metadataIn(part));
    const citations = plainJson(part["citations"]);
    if (Array.isArray(citations) && citations.length > 0) {
      this.#metadata = mergedMetadata(this.#metadata, { [HEDDLE]: { citations } });
    }
    return this.#append(typeof delta === "string" ? this.#pieces.push(delta) : "");
  }

  end(part: RawPart): string {
    this.ended = true;
    return this.add(part) + this.#append(this.#pieces.end());
  }

  get hasText(): boolean {
    return this.#text !== "";
  }

  /** Undefined when the block has neither text nor metadata. */
  toPart(model: AnswerModel): Part | undefined {
    const text = this.#text + this.#pieces.end();
    if (text === "" && this.#metadata === undefined) return undefined;
    const fields = { text, ...withMetadata(this.#metadata) };
    return this.type === "text" ? { type: "text", ...fields } : { type: "thinking", ...fields, ...model };
  }

  #append(text: string): string {
    this.#text += text;
    return text;
  }
}

/**
 * A new piece of an answer. `id` names the block within the answer. The input of a tool is JSON text. So are the whole arguments
 * and the result of a call that the provider itself runs, and a part that comes as a whole, such as a source.
 */
export type ModelDelta =
  | { readonly type: "text" | "thinking" | "part"; readonly id: string; readonly text: string }
  | {
      readonly type: "tool_input" | ProviderDeltaType;
      readonly id: string;
      readonly text: string;
      readonly toolCallId: string;
      readonly toolName: string;
    };

type ProviderDeltaType = "provider_call" | "provider_result" | "provider_error";

/** The piece for a part that is not streamed: a call of the provider or its result, a source or a file. */
export function wholeDelta(part: Part): ModelDelta | undefined {
  if (!isProviderExecuted(part)) {
    const isWhole = part.type === "file" || part.type === "source" || part.type === "custom";
    return isWhole ? { type: "part", id: part.type, text: JSON.stringify(part) } : undefined;
  }
  const { id, name: toolName } = part;
  const isCall = part.type === "provider_call";
  const type = isCall || !part.isError ? part.type : "provider_error";
  return { type, id, text: JSON.stringify(isCall ? part.arguments : part.result), toolCallId: id, toolName };
}

/** Facts about the whole answer. Without `finishReason` the stream was cut. */
export interface AnswerEnd {
  readonly usage?: Usage;
  readonly finishReason?: ModelFinishReason;
  readonly response?: NonNullable<ModelAnswer["response"]>;
}

/** The answer, or a ModelError if it is empty and the finish reason says why. */
export function finishAnswer(
  builder: AnswerBuilder,
  { usage = {}, finishReason = "interrupted", response }: AnswerEnd,
): ModelAnswer {
  const content = builder.content({ finished: finishReason !== "interrupted" });
  if (isEmpty(content)) throwIfFailed(finishReason);
  return { ...content, usage, finishReason, ...(response !== undefined && { response }) };
}

/** An answer with thinking only is empty. */
function isEmpty({ content, toolCalls }: AnswerContent): boolean {
  if (toolCalls.length > 0) return false;
  return typeof content === "string" ? content === "" : content.every(({ type }) => type === "thinking");
}

function throwIfFailed(reason: ModelFinishReason): void {
  switch (reason) {
    case "interrupted":
      throw new ModelError({
        code: "model_stream_interrupted",
        message: "The stream of the model ended before its first text. Try again.",
        retryable: true,
      });
    case "content-filter":
      throw new ModelError({
        code: "model_refused",
        message: "The filter of the provider stopped the answer before its first text. Ask for something else.",
      });
    case "error":
    case "other": // of Gemini: OTHER, or a call that it could not write
      throw new ModelError({
        code: "model_answer_empty",
        message: "The model ended without an answer, and not by itself. Try again.",
        retryable: true,
      });
    default:
      return; // the answer is complete and empty
  }
}

/** The key of metadata that only Heddle reads. It is never sent to a provider. */
export const HEDDLE = "heddle";

/** Metadata that the package needs back with the part. A package must not write under the key of Heddle. */
function metadataIn({ providerMetadata }: RawPart): PartMetadata | undefined {
  const { [HEDDLE]: _own, ...others } = plainMetadata(providerMetadata) ?? {};
  return Object.keys(others).length === 0 ? undefined : others;
}

/** Packages send the metadata of a block in pieces, from its start to its end. Later pieces are added. */
function mergedMetadata(a: PartMetadata | undefined, b: PartMetadata | undefined): PartMetadata | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const owners = Object.keys({ ...a, ...b });
  return Object.fromEntries(owners.map((owner) => [owner, { ...a[owner], ...b[owner] }]));
}

function withMetadata(metadata: PartMetadata | undefined): { readonly metadata?: PartMetadata } {
  return metadata === undefined ? {} : { metadata };
}

/** The call of the model. Its id may be missing, or the same as that of another call. */
function callIn(part: RawPart): ToolCall {
  return {
    id: plainText(part["toolCallId"]),
    name: plainText(part["toolName"]),
    arguments: argumentsIn(part["input"]),
    ...withMetadata(metadataIn(part)),
  };
}

/**
 * Packages give arguments as JSON text. If the text is not JSON, or an entry cannot hold the value, the arguments stay text.
 * Tools take objects only, so the call then fails with `tool_bad_arguments`.
 */
function argumentsIn(input: unknown): JsonValue {
  if (typeof input !== "string") return plainJson(input) ?? {};
  if (input.trim() === "") return {}; // some servers write a call without arguments like this
  const value = parsed(input);
  if (value === undefined) return input.toWellFormed();
  const plain = plainJson(value);
  if (plain !== undefined && sameJson(plain, parsed(input, wellFormed))) return plain;
  return input.slice(0, MAX_INVALID_CHARACTERS).toWellFormed();
}

/** The length of the text that replaces JSON which an entry cannot hold. Cut JSON does not parse, so its depth harms no parser. */
const MAX_INVALID_CHARACTERS = 2_000;

function parsed(text: string, reviver?: (key: string, value: JsonValue) => JsonValue): JsonValue | undefined {
  try {
    return JSON.parse(text, reviver);
  } catch {
    return undefined;
  }
}

/** Replaces halves of surrogate pairs, which models write, also as an escape such as \uD83D. */
function wellFormed(_key: string, value: JsonValue): JsonValue {
  return typeof value === "string" ? value.toWellFormed() : value;
}

/** Gives each call a unique id. Calls that have one keep it. Equal answers get equal ids. */
export function withUniqueIds(calls: readonly ToolCall[]): readonly ToolCall[] {
  const given = new Set(calls.map(({ id }) => id));
  const taken = new Set<string>();
  const numbers = new Map<string, number>(); // the next number of each base, so that no number is tried twice
  const fresh = (base: string): string => {
    let id = base;
    let number = numbers.get(base) ?? 2;
    for (; given.has(id) || taken.has(id); number++) id = `${base}_${number}`;
    numbers.set(base, number);
    return id;
  };
  return calls.map((call, index) => {
    const id = call.id !== "" && !taken.has(call.id) ? call.id : fresh(call.id || `call_${index + 1}`);
    taken.add(id);
    return id === call.id ? call : { ...call, id };
  });
}

/**
 * Joins pieces of streamed text to well-formed text. If a piece ends with the first half of a surrogate pair, that half is
 * held back until the next piece.
 */
export class WellFormedText {
  #waiting = "";

  /** Adds a piece, and returns the text that is complete. */
  push(piece: string): string {
    const text = this.#waiting + piece;
    const cut = /[\uD800-\uDBFF]$/.test(text) ? text.length - 1 : text.length;
    this.#waiting = text.slice(cut);
    return text.slice(0, cut).toWellFormed();
  }

  /** Returns the rest. A half that is still held back becomes a replacement character. */
  end(): string {
    const rest = this.#waiting.toWellFormed();
    this.#waiting = "";
    return rest;
  }
}

/** Parts that are not streamed in pieces, except for calls of our own tools. Undefined for any other part. */
function wholePart(part: RawPart, { fileData }: Pick<ModelSpec, "fileData">, model: string): Part | undefined {
  const extra = withMetadata(metadataIn(part));
  switch (part.type) {
    case "file":
    case "reasoning-file": {
      const data = fileData(part);
      if (data === undefined) return undefined;
      const filename = plainText(part["filename"]);
      const name = filename === "" ? {} : { filename };
      const file = { type: "file", mediaType: plainText(part["mediaType"]), ...name, data } as const;
      if (part.type === "file") return { ...file, ...extra };
      return { ...file, ...withMetadata(mergedMetadata(extra.metadata, { [HEDDLE]: { reasoningOf: model } })) };
    }
    case "source":
      return { ...restOf(part), type: "source", ...extra };
    case "custom":
      if (part["kind"] === "anthropic.message_start") return undefined; // describes the stream, and is never sent back
      return { ...restOf(part), type: "custom", ...extra };
    case "tool-approval-request": {
      const { approvalId, toolCallId } = restOf(part);
      return { type: "custom", kind: `${HEDDLE}.approval_request`, approvalId, toolCallId, ...extra };
    }
    case "tool-call":
      return {
        type: "provider_call",
        id: plainText(part["toolCallId"]),
        name: plainText(part["toolName"]),
        arguments: argumentsIn(part["input"]),
        ...extra,
      };
    case "tool-result":
      return {
        type: "provider_result",
        id: plainText(part["toolCallId"]),
        name: plainText(part["toolName"]),
        result: plainJson(part["result"]) ?? null,
        ...(part["isError"] === true && { isError: true }),
        ...extra,
      };
    default:
      return undefined;
  }
}

/** The fields of the part without its type and its provider metadata. */
function restOf({ type: _type, providerMetadata: _metadata, metadata: _other, ...rest }: RawPart): JsonObject {
  return plainObject(rest) ?? {};
}
