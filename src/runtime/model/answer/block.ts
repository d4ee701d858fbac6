import type { Part, PartMetadata } from "../../../thread/message.ts";
import { plainJson } from "../plain-json.ts";
import type { RawPart } from "../raw-part.ts";
import { mergedMetadata, metadataIn, OURS, withMetadata } from "./metadata.ts";
import { WellFormed } from "./well-formed.ts";

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
