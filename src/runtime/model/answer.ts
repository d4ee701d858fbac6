import type { ModelAnswer, ModelFinishReason, Usage } from "../../agent/model-call.ts";
import { type JsonObject, type JsonValue, sameJson } from "../../thread/json.ts";
import type { Content, Part, PartMetadata, ToolCall } from "../../thread/message.ts";
import { ModelError } from "./failure.ts";
import { plainJson, plainMetadata, plainObject, plainText, type RawPart } from "./provider-values.ts";
import type { ModelSpec } from "./spec.ts";

/** What stands at one place of an answer. */
type Slot = Block | { readonly type: "call"; readonly call: ToolCall } | { readonly type: "part"; part: Part };

type Said = Pick<ModelAnswer, "content" | "toolCalls">;

const STEPS = /^(text|reasoning)-(start|delta|end)$/;

/** An answer as it comes in. Everything stands where it began: blocks may overlap, and each is told by its id. */
export class Assembly {
  readonly #spec: ModelSpec;
  readonly #maker: Maker;
  readonly #slots: Slot[] = [];
  readonly #open = new Map<string, Block>();
  readonly #inputs = new Map<string, { readonly name: string; readonly text: WellFormed }>();

  constructor(spec: ModelSpec, maker: Maker) {
    this.#spec = spec;
    this.#maker = maker;
  }

  /** Takes a part of a stream; what is new to read comes back. Parts of unknown types are passed over. */
  take(part: RawPart): ModelDelta | undefined {
    const [, kind, step] = STEPS.exec(part.type) ?? [];
    if (kind !== undefined) return this.#takeStep(kind === "text" ? "text" : "thinking", step, part);
    if (part.type.startsWith("tool-input-")) return this.#takeInput(part);
    this.takeWhole(part);
    return undefined;
  }

  /** Takes a part of an answer that came at once. */
  takeWhole(part: RawPart): void {
    if (part.type === "text" || part.type === "reasoning") {
      const block = new Block(part.type === "text" ? "text" : "thinking");
      block.end({ ...part, delta: part["text"] });
      this.#slots.push(block);
    } else if (part.type === "tool-call" && part["providerExecuted"] !== true) {
      this.#slots.push({ type: "call", call: callIn(part) });
    } else {
      this.#addPart(wholePart(part, this.#spec, `${this.#maker.provider}:${this.#maker.model}`));
    }
  }

  /** Whether it has said anything that is text. */
  get hasText(): boolean {
    return this.#slots.some((slot) => slot.type === "text" && slot.hasText);
  }

  /** The answer. Thinking that was not ended has no signature yet, and no provider would take it. */
  said({ finished }: { readonly finished: boolean }): Said {
    const toolCalls = withUniqueIds(this.#slots.flatMap((slot) => (slot.type === "call" ? [slot.call] : [])));
    let calls = 0;
    const parts = this.#slots.flatMap((slot): readonly Part[] => {
      if (slot.type === "call") return [{ type: "tool_call", id: toolCalls[calls++]?.id ?? "" }]; // one for each slot
      if (slot.type === "part") return [slot.part];
      const part = finished || slot.ended || slot.type === "text" ? slot.toPart(this.#maker) : undefined;
      return part === undefined ? [] : [part];
    });
    return { content: contentOf(parts), toolCalls };
  }

  /** What stays of an answer that broke: no call, because nothing may run it, and no call of the provider half done. */
  partial(): Content {
    const { content } = this.said({ finished: false });
    if (typeof content === "string") return content;
    const done = new Set(content.map((part) => (part.type === "provider_result" ? part.id : undefined)));
    return contentOf(
      content.filter((part) => part.type !== "tool_call" && (part.type !== "provider_call" || done.has(part.id))),
    );
  }

  #takeStep(type: Block["type"], step: string | undefined, part: RawPart): ModelDelta | undefined {
    const id = plainText(part["id"]);
    const key = `${type} ${id}`;
    const opened = step === "start" ? undefined : this.#open.get(key); // an id may come again for another block
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
      this.#inputs.set(id, { name: plainText(part["toolName"]), text: new WellFormed() });
      return undefined;
    }
    const input = this.#inputs.get(id);
    const { delta } = part;
    if (input === undefined || typeof delta !== "string") return undefined;
    const text = input.text.push(delta);
    return text === "" ? undefined : { type: "tool_input", id, text, toolCallId: id, toolName: input.name };
  }

  /** A tool of the provider may report before it is done: each report takes the place of the one before. */
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

/** Calls at the end need no place there, and text alone needs no parts: see how prompts are made of them. */
function contentOf(parts: readonly Part[]): Content {
  const end = parts.findLastIndex(({ type }) => type !== "tool_call") + 1;
  const [only, ...others] = parts.slice(0, end);
  if (only === undefined) return "";
  const plain = only.type === "text" && only.metadata === undefined && others.length === 0;
  return plain ? only.text : [only, ...others];
}

/** Who thinks: only the same model can read its thinking again. */
export interface Maker {
  readonly provider: string;
  readonly model: string;
}

/** A text or a piece of thinking, as it grows. */
export class Block {
  readonly type: "text" | "thinking";
  ended = false;
  readonly #pieces = new WellFormed();
  #text = "";
  #metadata: PartMetadata | undefined;

  constructor(type: Block["type"]) {
    this.type = type;
  }

  /** Adds what a start, a delta or an end says; gives back the text that is new. */
  add(part: RawPart): string {
    const { delta } = part;
    this.#metadata = mergedMetadata(this.#metadata, metadataIn(part));
    const citations = plainJson(part["citations"]);
    if (Array.isArray(citations) && citations.length > 0) {
      this.#metadata = mergedMetadata(this.#metadata, { [OURS]: { citations } });
    }
    return this.#say(typeof delta === "string" ? this.#pieces.push(delta) : "");
  }

  end(part: RawPart): string {
    this.ended = true;
    return this.add(part) + this.#say(this.#pieces.end());
  }

  get hasText(): boolean {
    return this.#text !== "";
  }

  /** Undefined when it says nothing and carries nothing. */
  toPart(maker: Maker): Part | undefined {
    const text = this.#text + this.#pieces.end();
    if (text === "" && this.#metadata === undefined) return undefined;
    const said = { text, ...withMetadata(this.#metadata) };
    return this.type === "text" ? { type: "text", ...said } : { type: "thinking", ...said, ...maker };
  }

  #say(text: string): string {
    this.#text += text;
    return text;
  }
}

/** What is new of an answer. `id` tells the blocks of one answer apart; a tool's input comes as JSON text. */
export type ModelDelta =
  | { readonly type: "text" | "thinking"; readonly id: string; readonly text: string }
  | {
      readonly type: "tool_input";
      readonly id: string;
      readonly text: string;
      readonly toolCallId: string;
      readonly toolName: string;
    };

/** What the provider said of the answer as a whole; without a finish reason it never said that it was complete. */
export interface AnswerEnd {
  readonly usage?: Usage;
  readonly finishReason?: ModelFinishReason;
  readonly response?: NonNullable<ModelAnswer["response"]>;
}

/** The answer, or a ModelError where it says nothing and the end tells why. */
export function answerOf(
  assembly: Assembly,
  { usage = {}, finishReason = "interrupted", response }: AnswerEnd,
): ModelAnswer {
  const said = assembly.said({ finished: finishReason !== "interrupted" });
  if (!saysSomething(said)) refuseSilence(finishReason);
  return { ...said, usage, finishReason, ...(response !== undefined && { response }) };
}

/** Thinking alone says nothing to anybody. */
function saysSomething({ content, toolCalls }: Pick<ModelAnswer, "content" | "toolCalls">): boolean {
  if (toolCalls.length > 0) return true;
  return typeof content === "string" ? content !== "" : content.some(({ type }) => type !== "thinking");
}

function refuseSilence(reason: ModelFinishReason): void {
  switch (reason) {
    case "interrupted":
      throw new ModelError({
        code: "model_stream_interrupted",
        message: "The model's stream ended before it said anything. Try again.",
        retryable: true,
      });
    case "content-filter":
      throw new ModelError({
        code: "model_refused",
        message: "The provider's filter stopped the answer before it said anything. Ask for something else.",
      });
    case "error":
      throw new ModelError({
        code: "model_error",
        message: "The model ended with an error and said nothing. Try again.",
        retryable: true,
      });
    default:
      return; // an empty answer is an answer
  }
}

/** Under this name stands what only we read again; no provider ever sees it. */
export const OURS = "heddle";

/** What a package wants back with a part. Ours alone may write under our name. */
function metadataIn({ providerMetadata }: RawPart): PartMetadata | undefined {
  const { [OURS]: _ours, ...others } = plainMetadata(providerMetadata) ?? {};
  return Object.keys(others).length === 0 ? undefined : others;
}

/** Packages tell a block's metadata bit by bit, from its start to its end: what comes later adds to it. */
function mergedMetadata(a: PartMetadata | undefined, b: PartMetadata | undefined): PartMetadata | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const owners = Object.keys({ ...a, ...b });
  return Object.fromEntries(owners.map((owner) => [owner, { ...a[owner], ...b[owner] }]));
}

function withMetadata(metadata: PartMetadata | undefined): { readonly metadata?: PartMetadata } {
  return metadata === undefined ? {} : { metadata };
}

/** A call as the model made it; its id may be missing, or be another call's as well. */
function callIn(part: RawPart): ToolCall {
  return {
    id: plainText(part["toolCallId"]),
    name: plainText(part["toolName"]),
    arguments: argumentsIn(part["input"]),
    ...withMetadata(metadataIn(part)),
  };
}

/**
 * Packages give arguments as JSON text. Text that is no JSON, or JSON that no entry can hold as it is, stays text: no
 * tool takes a text for its arguments, so whoever runs it can say that they are bad.
 */
function argumentsIn(input: unknown): JsonValue {
  if (typeof input !== "string") return plainJson(input) ?? {};
  if (input.trim() === "") return {}; // how some servers write a call without arguments
  const value = parsed(input);
  if (value === undefined) return input.toWellFormed();
  const plain = plainJson(value);
  if (plain !== undefined && sameJson(plain, parsed(input, wellFormed))) return plain;
  return input.slice(0, UNHOLDABLE).toWellFormed();
}

/** Of JSON that no entry can hold, so much is kept: what is nested too deep would break whoever parses it again. */
const UNHOLDABLE = 2_000;

function parsed(text: string, reviver?: (key: string, value: JsonValue) => JsonValue): JsonValue | undefined {
  try {
    return JSON.parse(text, reviver);
  } catch {
    return undefined;
  }
}

/** Models cut emojis also where they write them as \uD83D. */
function wellFormed(_key: string, value: JsonValue): JsonValue {
  return typeof value === "string" ? value.toWellFormed() : value;
}

/** Every call gets an id of its own; those that have one keep it. The same answer always gets the same ids. */
export function withUniqueIds(calls: readonly ToolCall[]): readonly ToolCall[] {
  const given = new Set(calls.map(({ id }) => id));
  const taken = new Set<string>();
  const numbers = new Map<string, number>(); // the next of each base: what was tried once is not tried again
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
 * Text that comes in pieces, each passed on as UTF-8 can hold it. A piece may end in the first half of a character: that
 * half waits for the other one.
 */
export class WellFormed {
  #waiting = "";

  /** What can be passed on now. */
  push(piece: string): string {
    const text = this.#waiting + piece;
    const cut = /[\uD800-\uDBFF]$/.test(text) ? text.length - 1 : text.length;
    this.#waiting = text.slice(cut);
    return text.slice(0, cut).toWellFormed();
  }

  /** The other half never came. */
  end(): string {
    const rest = this.#waiting.toWellFormed();
    this.#waiting = "";
    return rest;
  }
}

/** The parts that come as a whole, but for calls that are ours to run. Undefined for anything else. */
function wholePart(part: RawPart, { fileData }: Pick<ModelSpec, "fileData">, maker: string): Part | undefined {
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
      return { ...file, ...withMetadata(mergedMetadata(extra.metadata, { [OURS]: { reasoningOf: maker } })) };
    }
    case "source":
      return { ...restOf(part), type: "source", ...extra };
    case "custom":
      if (part["kind"] === "anthropic.message_start") return undefined; // tells of the stream, and never goes back
      return { ...restOf(part), type: "custom", ...extra };
    case "tool-approval-request": {
      const { approvalId, toolCallId } = restOf(part);
      return { type: "custom", kind: `${OURS}.approval_request`, approvalId, toolCallId, ...extra };
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

/** What the part says besides its type and what goes back to the provider. */
function restOf({ type: _type, providerMetadata: _metadata, metadata: _other, ...rest }: RawPart): JsonObject {
  return plainObject(rest) ?? {};
}
