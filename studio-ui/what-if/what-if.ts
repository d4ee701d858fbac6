import { type ContextPolicyInput, type Message, ProjectionError, project, type Thread } from "heddle";
import type { ProjectionMeta, Provenance } from "heddle/core";
import { commonStart } from "../../src/studio/call-diff.ts";
import type { CallDetail } from "../data/contract.ts";
import { inputOf } from "../data/rebuild.ts";
import { problemOf } from "../data/source.ts";

export interface WhatIfContext {
  readonly messages: readonly Message[];
  readonly provenance: readonly Provenance[];
  readonly meta: ProjectionMeta;
}

export type Outcome =
  | { readonly state: "shown"; readonly shown: WhatIfContext; readonly ms: number }
  | { readonly state: "refused"; readonly code: string; readonly message: string }
  /** The projection needs older entries than those loaded: from `neededFromSeq` on. */
  | { readonly state: "short"; readonly neededFromSeq: number };

/** Projects the context at an entry with any policy. All other inputs are those of a recorded call. */
export function whatIf(
  thread: Thread,
  atSeq: number,
  policy: ContextPolicyInput,
  like: CallDetail | undefined,
): Outcome {
  const started = performance.now();
  try {
    const environment = like?.environment;
    const rest = like && environment ? inputOf(like.record, environment) : {};
    const { systemPrompt: _, ...others } = policy;
    // A prompt in the policy is typed by the user and must win, so the input's prompt is removed.
    const input =
      policy.systemPrompt === undefined
        ? { ...rest, policy }
        : { ...rest, policy: others, system: policy.systemPrompt };
    const { messages, provenance, meta } = project({ ...input, thread: thread.upTo(atSeq) });
    return { state: "shown", shown: { messages, provenance, meta }, ms: performance.now() - started };
  } catch (error) {
    if (ProjectionError.isInstance(error) && error.code === "tail_too_short" && error.neededFromSeq !== undefined) {
      return { state: "short", neededFromSeq: error.neededFromSeq };
    }
    return { state: "refused", ...problemOf(error) };
  }
}

/** The fraction of tokens in messages that equal the start of the call before. A provider may cache these. */
export function prefixShare({ messages, provenance, previous }: CallDetail): number {
  if (previous === undefined || messages.length === 0) return 0;
  const tokens = provenance.map((each) => each.tokens);
  const sum = (to: number) => tokens.slice(0, to).reduce((total, each) => total + each, 0);
  return sum(tokens.length) === 0 ? 0 : sum(previous.stablePrefix) / sum(tokens.length);
}

export const sharedPrefix = (real: CallDetail, shown: WhatIfContext) => commonStart(real.messages, shown.messages);
