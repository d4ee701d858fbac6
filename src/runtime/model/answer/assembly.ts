import type { ModelAnswer } from "../../../agent/model-call.ts";
import type { Content, Part, ToolCall } from "../../../thread/message.ts";
import { plainText } from "../plain-json.ts";
import type { RawPart } from "../raw-part.ts";
import type { ModelSpec } from "../spec/spec.ts";
import { Block, type Maker } from "./block.ts";
import type { ModelDelta } from "./delta.ts";
import { callIn, withUniqueIds } from "./tool-calls.ts";
import { WellFormed } from "./well-formed.ts";
import { wholePart } from "./whole-part.ts";

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
