import type { Message, TokenCounter, ToolSpec } from "heddle";
import { countMessage } from "heddle/core";
import type { Provenance } from "../../../../src/projection/projection.ts";
import { portableSha256 } from "../../../../src/thread/encoding.ts";
import { isAnswer } from "./blocks.ts";
import type { Draft } from "./compose.ts";
import { withoutTrailingSpace } from "./content.ts";
import type { Place } from "./fold.ts";

/** A message as it is sent. */
export interface Line {
  readonly message: Message;
  readonly provenance: Provenance;
  readonly draft: Draft;
  /** The chain of hashes up to and with this message. */
  readonly link: string;
  /** Where thinking was left out. */
  readonly forgotten: readonly Place[];
  /** Where thinking is shown behind other messages than it was made behind. */
  readonly stale: readonly Place[];
}

/**
 * Decides from left to right whose thinking stays: where all that is sent before is what was sent then, and in the turn
 * that is still running, behind the last answer.
 */
export function settled(
  drafts: readonly Draft[],
  tools: readonly ToolSpec[],
  counter: TokenCounter,
  model: string | undefined,
): Line[] {
  const lines: Line[] = [];
  const lastAnswer = drafts.findLastIndex(
    ({ block, message }) => message.role === "assistant" && block && isAnswer(block),
  );
  for (const [index, draft] of drafts.entries()) {
    const before = lines.at(-1)?.link ?? firstLink(tools);
    const isStale = draft.bare !== undefined && !draft.fingerprints.includes(before);
    const stays = !isStale || index > lastAnswer;
    const chosen = stays ? draft.message : (draft.bare ?? draft.message);
    const message = index === drafts.length - 1 ? trimmed(chosen) : chosen;
    const forgotten = draft.thoughts.filter(({ candidate }) => !stays || !candidate).map(({ place }) => place);
    const stale = isStale && stays ? draft.thoughts.flatMap((one) => (one.candidate ? [one.place] : [])) : [];
    const seqs = new Set(draft.places.filter(({ pending }) => !pending).map(({ seq }) => seq));
    const provenance: Provenance = {
      segment: draft.segment,
      seqs: [...seqs],
      tokens: countMessage(message, counter, model),
      ...(draft.rule !== undefined && { rule: draft.rule }),
    };
    lines.push({ message, provenance, draft, forgotten, stale, link: nextLink(before, message) });
  }
  return lines;
}

export function firstLink(tools: readonly ToolSpec[]): string {
  return portableSha256(JSON.stringify(tools));
}

function nextLink(before: string, message: Message): string {
  return portableSha256(`${before}\n${JSON.stringify(message)}`);
}

function trimmed(message: Message): Message {
  return message.role === "assistant" ? { ...message, content: withoutTrailingSpace(message.content) } : message;
}
