import type { Entry } from "../../thread/entry.ts";
import { freezeJson } from "../../thread/json.ts";
import type { Message } from "../../thread/message.ts";
import { ProjectionError } from "../error.ts";
import type { Segment } from "../projection.ts";
import type { RenderedBlock } from "./render-block.ts";

/** The messages before the history: system prompt and summary. */
export interface LeadingMessages {
  readonly system: RenderedBlock | undefined;
  readonly summary: RenderedBlock | undefined;
}

/** Makes the messages before the history. Equal input gives the same object, so that it is hashed only once. */
export class LeadingMessagesCache {
  readonly #tokensOf: (message: Message) => number;
  #system: { readonly prompt: string; readonly block: RenderedBlock } | undefined;
  #summary: { readonly entry: Entry; readonly block: RenderedBlock } | undefined;

  constructor(tokensOf: (message: Message) => number) {
    this.#tokensOf = tokensOf;
  }

  make(prompt: string | undefined, summary: Entry | undefined, role: "system" | "user"): LeadingMessages {
    return {
      system: prompt === undefined || prompt.trim() === "" ? undefined : this.#systemBlock(prompt),
      summary: summary && this.#summaryBlock(summary, role),
    };
  }

  #systemBlock(prompt: string): RenderedBlock {
    if (this.#system?.prompt !== prompt) {
      this.#system = { prompt, block: this.#render("system", { role: "system", content: prompt }, []) };
    }
    return this.#system.block;
  }

  #summaryBlock(entry: Entry, role: "system" | "user"): RenderedBlock {
    if (this.#summary?.entry !== entry) {
      const content = summaryText(summaryContentOf(entry));
      this.#summary = { entry, block: this.#render("summary", { role, content }, [entry.seq]) };
    }
    return this.#summary.block;
  }

  #render(segment: Segment, message: Message, seqs: readonly number[]): RenderedBlock {
    const tokens = this.#tokensOf(message);
    const provenance = [{ segment, seqs, tokens }];
    return freezeJson({
      messages: [message],
      provenance,
      tokens,
      entries: seqs.length,
      repaired: [],
      cleared: [],
      thinkingDropped: [],
    });
  }
}

function summaryContentOf({ seq, kind, v = 1, payload }: Entry): string {
  const { content } = payload;
  if (v > 1) {
    const message = `The summary at seq ${seq} has version ${v}, and version 1 is the newest known. Update heddle.`;
    throw new ProjectionError({ code: "entry_too_new", seq, kind, message });
  }
  return typeof content === "string" ? content : ""; // summaries without text are not shown, so they never come here
}

/** Returns the text of a summary message. */
export function summaryText(content: string): string {
  return `Summary of earlier conversation:\n${content}`;
}
