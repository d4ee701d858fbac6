import type { Message } from "../thread/message.ts";
import { unknownProvider } from "./error.ts";
import { checkMessages, type ProviderApi } from "./message-parts.ts";
import { EVERY_PROVIDER, RULES, type RuleId } from "./rules.ts";

/** A violated rule, and the first message that violates it. */
export interface Violation {
  readonly rule: RuleId;
  readonly index: number;
  /** Describes the problem. It contains no content of the message. */
  readonly message: string;
}

/**
 * The reasons for which a provider would refuse a list of messages, in the order of the messages. At most one violation for
 * each rule. Most rules apply to all providers, so that a conversation can change its provider at any point.
 *
 * @example
 * const [violation] = validateMessages([{ role: "assistant", content: "Hi" }], "gemini");
 * console.log(violation?.rule, violation?.index); // first_not_user 0
 */
export function validateMessages(messages: readonly Message[], provider: ProviderApi): Violation[] {
  if (!EVERY_PROVIDER.includes(provider)) throw unknownProvider(EVERY_PROVIDER, provider);
  checkMessages(messages);
  return ruleIds()
    .flatMap((rule) => {
      const { providers, trouble, find } = RULES[rule];
      const index = providers.includes(provider) ? find(messages, provider) : -1;
      return index < 0 ? [] : [{ rule, index, message: `messages[${index}]: ${trouble}` }];
    })
    .sort((a, b) => a.index - b.index);
}

function ruleIds(): RuleId[] {
  return Object.keys(RULES) as RuleId[]; // `Object.keys` loses the type of the keys
}
