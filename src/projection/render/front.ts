import type { Entry } from "../../thread/entry.ts";
import { freezeJson } from "../../thread/json.ts";
import type { Message } from "../../thread/message.ts";
import { ProjectionError } from "../error.ts";
import type { Segment } from "../projection.ts";
import type { Piece } from "./piece.ts";
import { summaryText } from "./summary-text.ts";

/** The messages before the history. */
export interface Front {
  readonly system: Piece | undefined;
  readonly summary: Piece | undefined;
}

/** Makes the messages before the history. Equal input gives the same object, so that it is hashed only once. */
export class FrontMaker {
  readonly #tokensOf: (message: Message) => number;
  #system: { readonly prompt: string; readonly piece: Piece } | undefined;
  #summary: { readonly entry: Entry; readonly piece: Piece } | undefined;

  constructor(tokensOf: (message: Message) => number) {
    this.#tokensOf = tokensOf;
  }

  make(prompt: string | undefined, summary: Entry | undefined, role: "system" | "user"): Front {
    return {
      system: prompt === undefined || prompt.trim() === "" ? undefined : this.#systemPiece(prompt),
      summary: summary && this.#summaryPiece(summary, role),
    };
  }

  #systemPiece(prompt: string): Piece {
    if (this.#system?.prompt !== prompt) {
      this.#system = { prompt, piece: this.#piece("system", { role: "system", content: prompt }, []) };
    }
    return this.#system.piece;
  }

  #summaryPiece(entry: Entry, role: "system" | "user"): Piece {
    if (this.#summary?.entry !== entry) {
      const content = summaryText(contentOf(entry));
      this.#summary = { entry, piece: this.#piece("summary", { role, content }, [entry.seq]) };
    }
    return this.#summary.piece;
  }

  #piece(segment: Segment, message: Message, seqs: readonly number[]): Piece {
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

function contentOf({ seq, kind, v = 1, payload }: Entry): string {
  const { content } = payload;
  if (v > 1) {
    const message = `The summary at seq ${seq} has version ${v}, and version 1 is the newest known. Update heddle.`;
    throw new ProjectionError({ code: "entry_too_new", seq, kind, message });
  }
  return typeof content === "string" ? content : ""; // summaries without text are filtered out earlier
}
