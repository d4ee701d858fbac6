import {
  type ContextPolicyInput,
  type Message,
  ProjectionError,
  type ProjectionMeta,
  type Provenance,
  project,
  type Thread,
} from "heddle";
import type { CallDetail } from "../data/contract.ts";
import { inputOf } from "../data/rebuild.ts";
import { problemOf } from "../data/source.ts";
import { sameMessages } from "../saw/diff.ts";

export interface Shown {
  readonly messages: readonly Message[];
  readonly provenance: readonly Provenance[];
  readonly meta: ProjectionMeta;
}

export type Outcome =
  | { readonly state: "shown"; readonly shown: Shown; readonly ms: number }
  | { readonly state: "refused"; readonly code: string; readonly message: string }
  /** Set if the loaded part of the thread does not reach back far enough. */
  | { readonly state: "short"; readonly neededFromSeq: number };

/** The context at an entry with any policy. Everything else is as in a real call. */
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
    // The typed prompt must win, but a projection prefers the prompt of its input.
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

/** The share of the tokens that could come from the cache after the call before. */
export function prefixShare({ messages, provenance, previous }: CallDetail): number {
  if (previous === undefined || messages.length === 0) return 0;
  const tokens = provenance.map((each) => each.tokens);
  const sum = (to: number) => tokens.slice(0, to).reduce((total, each) => total + each, 0);
  return sum(tokens.length) === 0 ? 0 : sum(previous.stablePrefix) / sum(tokens.length);
}

export const sharedPrefix = (real: CallDetail, shown: Shown) => sameMessages(real.messages, shown.messages);
