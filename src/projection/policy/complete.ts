import { fields, readFields } from "./checks.ts";
import { impossible } from "./error.ts";
import { CHECKS, type ContextPolicy, type ContextPolicyInput, DEFAULTS } from "./fields.ts";

/** Policies that have been through here: frozen, so there is nothing to check again. */
const known = new WeakSet<object>();

/** The policy of an input, over the defaults of a preset or those of every policy. */
export function complete(input: ContextPolicyInput, preset: Partial<ContextPolicy> = {}): ContextPolicy {
  if (known.has(input)) return input as ContextPolicy; // it came out of here
  const given = readFields(input, "");
  const defaults = { ...DEFAULTS, ...preset };
  const policy = fields(CHECKS, { ...defaults, keepLastTurns: defaultFloor(given, defaults.keepLastTurns) })(given, "");
  checkReserve(policy);
  checkFloor(policy);
  known.add(policy);
  return policy;
}

/**
 * A policy for later: checked now, and still without the fields that were not given, because whoever uses it has better
 * defaults for them than `complete`. A complete policy stays as it is.
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
  return Object.fromEntries(present) as T; // fields that are undefined count as left out
}

/**
 * An explicit ceiling lowers the default floor, so that the ceiling holds: to the turns it allows, and to none under a
 * ceiling on messages, because the newest turn alone may be longer than that.
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

/** A turn has one message at least, so more turns than messages can never be kept. */
function checkFloor({ keepLastTurns, maxMessages, maxTurns }: ContextPolicy): void {
  for (const [name, ceiling] of Object.entries({ maxTurns, maxMessages })) {
    if (ceiling === 0 || keepLastTurns <= ceiling) continue;
    const message = `keepLastTurns ${keepLastTurns} asks for more than ${name} ${ceiling} allows. Lower keepLastTurns or raise ${name}.`;
    throw impossible("keepLastTurns", message);
  }
}
