import { contentRules } from "./content.ts";
import { exchangeRules } from "./exchange.ts";
import { nameRules } from "./names.ts";
import { orderRules } from "./order.ts";
import type { Rule } from "./rule.ts";

const families = { ...orderRules, ...exchangeRules, ...nameRules, ...contentRules };

/** The stable name of a rule. */
export type RuleId = keyof typeof families;

/**
 * Every rule, by its stable name, with the providers it applies to.
 *
 * @example
 * console.log(RULES.trailing_whitespace.providers); // [ 'anthropic' ]
 */
export const RULES: { readonly [rule in RuleId]: Rule } = families;
