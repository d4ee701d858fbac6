import { fields, readFields } from "./checks.ts";
import { impossible } from "./error.ts";
import { CHECKS, type ContextPolicy, type ContextPolicyInput, DEFAULTS } from "./fields.ts";

/** Checked policies. They are frozen, so they need no second check. */
const known = new WeakSet<object>();

/** Fills in the missing fields from the preset, then from the general defaults. */
export function complete(input: ContextPolicyInput, preset: Partial<ContextPolicy> = {}): ContextPolicy {
  if (known.has(input)) return input as ContextPolicy; // only complete policies are in `known`
  const given = readFields(input, "");
  const defaults = { ...DEFAULTS, ...preset };
  const policy = fields(CHECKS, { ...defaults, keepLastTurns: defaultFloor(given, defaults.keepLastTurns) })(given, "");
  checkReserve(policy);
  checkFloor(policy);
  known.add(policy);
  return policy;
}

/**
 * Checks a policy for later use and adds no defaults, because the caller has better ones than `complete`. A complete
 * policy is returned unchanged.
 */
export function checkedInput(input: ContextPolicyInput): ContextPolicyInput {
  complete(input);
  if (known.has(input)) return input;
  const { window, toolResults, ...fields } = input;
  return Object.freeze({
    ...given(fields),
    ...(window !== undefined && { window: Object.freeze(given(window)) }),
    ...(toolResults !== undefined && { toolResults: Object.freeze(given(toolResults)) }),
  });
}

function given<T extends object>(fields: T): T {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as T; // undefined fields count as missing
}

/**
 * An explicit ceiling lowers the default of `keepLastTurns`. `maxTurns` lowers it to itself. `maxMessages` lowers it to 0,
 * because the newest turn alone may have more messages.
 */
function defaultFloor(given: { readonly [name: string]: unknown }, floor: number): number {
  const { maxMessages, maxTurns } = given;
  if (isCeiling(maxMessages)) return 0;
  return isCeiling(maxTurns) ? Math.min(floor, maxTurns) : floor;
}

function isCeiling(value: unknown): value is number {
  return typeof value === "number" && value > 0;
}

function checkReserve({ maxInputTokens, reserveOutputTokens }: ContextPolicy): void {
  if (reserveOutputTokens < maxInputTokens) return;
  const message =
    `reserveOutputTokens ${reserveOutputTokens} leaves nothing of maxInputTokens ${maxInputTokens} for the input. ` +
    "Set a smaller reserveOutputTokens or a larger maxInputTokens.";
  throw impossible("reserveOutputTokens", message);
}

/** Each turn has at least one message, so `maxMessages` limits the turns too. */
function checkFloor({ keepLastTurns, maxMessages, maxTurns }: ContextPolicy): void {
  for (const [name, ceiling] of Object.entries({ maxTurns, maxMessages })) {
    if (ceiling === 0 || keepLastTurns <= ceiling) continue;
    const message = `keepLastTurns ${keepLastTurns} asks for more than ${name} ${ceiling} allows. Lower keepLastTurns or raise ${name}.`;
    throw impossible("keepLastTurns", message);
  }
}
