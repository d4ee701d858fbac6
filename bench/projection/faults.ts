import type { Message } from "heddle";
import { type RuleId, validateMessages } from "heddle/providers";

/** Why a provider would refuse a list; a list can have several faults. */
interface Faults {
  /** By any rule of OpenAI's chat API or of Anthropic. */
  readonly illegal: boolean;
  /** A call without its result or a result without its call: no provider takes it. */
  readonly torn: boolean;
  /** OpenAI takes this one. */
  readonly noUserFirst: boolean;
  readonly empty: boolean;
}

export type FaultCounts = { readonly [Fault in keyof Faults]: number };

const TORN: readonly RuleId[] = ["missing_result", "orphan_result", "result_not_adjacent"];

export function faultsOf(lists: readonly (readonly Message[])[]): FaultCounts {
  const all = lists.map(faultsOfOne);
  const count = (fault: keyof Faults): number => all.filter((faults) => faults[fault]).length;
  return { illegal: count("illegal"), torn: count("torn"), noUserFirst: count("noUserFirst"), empty: count("empty") };
}

function faultsOfOne(list: readonly Message[]): Faults {
  const rules = [...validateMessages(list, "openai-chat"), ...validateMessages(list, "anthropic")].map(
    ({ rule }) => rule,
  );
  const empty = list.length === 0;
  return {
    illegal: empty || rules.length > 0,
    torn: rules.some((rule) => TORN.includes(rule)),
    noUserFirst: rules.includes("first_not_user"),
    empty,
  };
}
