import { portableSha256 } from "../../thread/encoding.ts";
import { plainData } from "../../thread/json.ts";
import { impossible } from "../error.ts";
import {
  CHECKS,
  type ContextPolicyInput,
  DEFAULT_KINDS,
  DEFAULTS,
  fields,
  type PolicyFields,
  readFields,
} from "./fields.ts";
import { MODEL_TABLE, type ModelRow } from "./model-table.ts";

/**
 * The rules for what a model is shown: complete, valid, frozen, and plain JSON in entries and messages. An invalid one
 * throws a PolicyError that names the field.
 *
 * @example
 * const policy = ContextPolicy.create({ maxInputTokens: 32_000, reserveOutputTokens: 4000 });
 * const roomy = ContextPolicy.forModel("anthropic:claude-sonnet-4", { keepLastTurns: 8 });
 * policy instanceof ContextPolicy; // true
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the constructor assigns every field of PolicyFields
export class ContextPolicy {
  static {
    Object.defineProperty(ContextPolicy.prototype, plainData, { value: true });
  }

  /** Private: use `ContextPolicy.create`. Missing fields come from the preset, then from the general defaults. */
  private constructor(input: ContextPolicyInput, preset: Partial<PolicyFields>) {
    const given = readFields(input, "");
    const defaults = { ...DEFAULTS, ...preset };
    const keepLastTurns = defaultFloor(given, defaults.keepLastTurns);
    Object.assign(this, fields(CHECKS, { ...defaults, keepLastTurns })(given, ""));
    checkReserve(this);
    checkFloor(this);
    Object.freeze(this);
  }

  /** Checks the fields, adds the defaults and freezes the policy. A ContextPolicy is returned unchanged. */
  static create(input: ContextPolicyInput = {}): ContextPolicy {
    return ContextPolicy.#from(input);
  }

  /**
   * A preset for small models and quick answers: 6000 tokens, and the newest two turns are kept.
   * @example
   * const policy = ContextPolicy.shortContext({ reserveOutputTokens: 1000 });
   */
  static shortContext(overrides: ContextPolicyInput = {}): ContextPolicy {
    return ContextPolicy.#from(overrides, { maxInputTokens: 6000, keepLastTurns: 2 });
  }

  /**
   * A preset for long conversations: 100 000 tokens, and the newest ten turns are kept.
   * @example
   * const policy = ContextPolicy.longContext({ summarization: "request_new" });
   */
  static longContext(overrides: ContextPolicyInput = {}): ContextPolicy {
    return ContextPolicy.#from(overrides, { maxInputTokens: 100_000, keepLastTurns: 10 });
  }

  /**
   * A preset for agents that mostly call tools: the newest five turns are kept, and summaries are not shown.
   * @example
   * const policy = ContextPolicy.toolFocused({ toolResults: { keepLast: 10 } });
   */
  static toolFocused(overrides: ContextPolicyInput = {}): ContextPolicy {
    const includeKinds = DEFAULT_KINDS.filter((kind) => kind !== "summary");
    return ContextPolicy.#from(overrides, { keepLastTurns: 5, includeKinds, summarization: "none" });
  }

  /**
   * A policy for a model, with its whole context window as maxInputTokens. The reserve is the model's largest answer, at
   * most 16 000 and at most a quarter of maxInputTokens. A model that is not in the table gets the general defaults (8000
   * and 2000). Use the overrides to set others.
   *
   * @example
   * ContextPolicy.forModel("anthropic:claude-sonnet-4").maxInputTokens; // 200000
   * ContextPolicy.forModel("openai/gpt-5.1", { maxInputTokens: 50_000 }).reserveOutputTokens; // 12500
   */
  static forModel(model: string, overrides: ContextPolicyInput = {}): ContextPolicy {
    const limits = limitsOf(model);
    return limits === undefined ? ContextPolicy.create(overrides) : ContextPolicy.#within(limits, overrides);
  }

  /**
   * The policy of an agent's call. The first of these counts: the request's, the agent state's, the definition's, the
   * model's, the general default. The model's has a maxInputTokens of at most 100 000, or 32 000 if the model is not in the
   * table. A policy without maxInputTokens takes the window of the next one; nothing else is merged.
   *
   * Fields that are still missing get the defaults of agents. Results longer than half of the tokens for input are
   * shortened. If the newest exchange still does not fit, its results are shortened further (`overflow: "shrink"`). A
   * policy made by `ContextPolicy.create` has no missing fields.
   *
   * @example
   * ContextPolicy.resolve({ model: "openai:gpt-5" }).maxInputTokens; // 100000
   * ContextPolicy.resolve({ request: { maxTurns: 2 }, model: "openai:gpt-5" }).maxInputTokens; // 100000
   * ContextPolicy.resolve({ request: { maxTurns: 2 }, definition: { maxInputTokens: 6000 } }).maxInputTokens; // 6000
   */
  static resolve({ request, state, definition, model, maxOutputTokens = 0 }: PolicySources): ContextPolicy {
    const given = [request, state, definition].filter((input) => input !== undefined);
    const [first] = given;
    const hasWindow = first?.maxInputTokens !== undefined;
    const own = ContextPolicy.create(hasWindow ? first : { ...ContextPolicy.#windowOf(given, model), ...first });
    const { maxInputTokens } = own;
    if (maxOutputTokens > own.reserveOutputTokens)
      checkReserve({ maxInputTokens, reserveOutputTokens: maxOutputTokens }, "maxOutputTokens");
    const reserveOutputTokens = Math.max(own.reserveOutputTokens, maxOutputTokens);
    const isComplete = own === first && reserveOutputTokens === own.reserveOutputTokens;
    if (isComplete) return own;
    const maxTokens =
      first?.toolResults?.maxTokens ?? Math.max(1, Math.floor((maxInputTokens - reserveOutputTokens) / 2));
    const overflow = first?.overflow ?? "shrink";
    return ContextPolicy.create({
      ...own,
      reserveOutputTokens,
      overflow,
      toolResults: { ...own.toolResults, maxTokens },
    });
  }

  /**
   * The SHA-256 of a policy's canonical JSON, in base64url. Equal policies have equal hashes, whatever their key order.
   *
   * @example
   * ContextPolicy.hashOf({ maxTurns: 5, maxMessages: 0 }) === ContextPolicy.hashOf({ maxTurns: 5 }); // true
   */
  static hashOf(policy: ContextPolicyInput): string {
    const whole = ContextPolicy.create(policy);
    const known = HASHES.get(whole);
    if (known !== undefined) return known;
    const hash = portableSha256(JSON.stringify(whole)); // every policy has the same key order, so equal policies give equal JSON
    HASHES.set(whole, hash);
    return hash;
  }

  static #from(input: ContextPolicyInput, preset: Partial<PolicyFields> = {}): ContextPolicy {
    return input instanceof ContextPolicy ? input : new ContextPolicy(input, preset);
  }

  /** Makes a policy for a model's window. At most a quarter of it is reserved for the answer. */
  static #within({ window, output = LARGEST_RESERVE }: ModelLimits, overrides: ContextPolicyInput): ContextPolicy {
    const given = readFields(overrides, "");
    const room = typeof given["maxInputTokens"] === "number" ? given["maxInputTokens"] : window;
    const reserveOutputTokens = Math.min(output, LARGEST_RESERVE, Math.floor(room / 4));
    return ContextPolicy.#from(given, { maxInputTokens: window, reserveOutputTokens });
  }

  /**
   * Returns the model's policy if no other policy exists. Else only `maxInputTokens` of the next policy that sets it.
   */
  static #windowOf(given: readonly ContextPolicyInput[], model: string | undefined): ContextPolicyInput {
    const named = given.find(({ maxInputTokens }) => maxInputTokens !== undefined);
    if (named === undefined && model === undefined) return {};
    const whole =
      named === undefined && model !== undefined ? ContextPolicy.#forAgent(model) : ContextPolicy.create(named);
    if (given.length === 0) return whole;
    const { maxInputTokens, reserveOutputTokens } = whole;
    return { maxInputTokens, reserveOutputTokens };
  }

  static #forAgent(model: string): ContextPolicy {
    const limits = limitsOf(model) ?? { window: UNKNOWN_WINDOW };
    return ContextPolicy.#within({ ...limits, window: Math.min(limits.window, AGENT_CAP) }, {});
  }
}

export interface ContextPolicy extends PolicyFields {}

/** The policies that can apply to one model call of an agent. See `ContextPolicy.resolve`. */
export interface PolicySources {
  /** The policy of a single request. Default: none. */
  readonly request?: ContextPolicyInput | undefined;
  /** The policy in the state of the agent. Default: none. */
  readonly state?: ContextPolicyInput | undefined;
  /** The policy in the definition of the agent. Default: none. */
  readonly definition?: ContextPolicyInput | undefined;
  /** The model, for its context window. Default: none. */
  readonly model?: string | undefined;
  /** The longest answer the agent allows. The reserve is at least this large. Default 0. */
  readonly maxOutputTokens?: number | undefined;
}

/** The hashes of policies, which never change. */
const HASHES = new WeakMap<ContextPolicy, string>();

/** The upper limit of the default reserve for an answer, in tokens. Nearly every answer is shorter. */
const LARGEST_RESERVE = 16_000;

/**
 * The default cap, in tokens, for models with large windows: full windows cost more than users expect. An explicit
 * policy may exceed it.
 */
const AGENT_CAP = 100_000;

/** The window, in tokens, for a model that is not in the table. Most current models have at least this much. */
export const UNKNOWN_WINDOW = 32_000;

/**
 * Checks a policy and adds no defaults, because its caller has other defaults. A ContextPolicy is returned unchanged.
 */
export function checkedInput(input: ContextPolicyInput): ContextPolicyInput {
  if (ContextPolicy.create(input) === input) return input;
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
 * Lowers the default of `keepLastTurns` if a limit is set: to `maxTurns`, or to 0 for `maxMessages`, because one turn
 * may have more messages.
 */
function defaultFloor(given: { readonly [name: string]: unknown }, floor: number): number {
  const { maxMessages, maxTurns } = given;
  if (isCeiling(maxMessages)) return 0;
  return isCeiling(maxTurns) ? Math.min(floor, maxTurns) : floor;
}

function isCeiling(value: unknown): value is number {
  return typeof value === "number" && value > 0;
}

/** The answer may be as long as `maxOutputTokens` of the agent or the ask, so that is reserved too. */
function checkReserve(
  { maxInputTokens, reserveOutputTokens }: Pick<PolicyFields, "maxInputTokens" | "reserveOutputTokens">,
  name: "reserveOutputTokens" | "maxOutputTokens" = "reserveOutputTokens",
): void {
  if (reserveOutputTokens < maxInputTokens) return;
  const message =
    `${name} ${reserveOutputTokens} leaves nothing of maxInputTokens ${maxInputTokens} for the input. ` +
    `Set a smaller ${name} or a larger maxInputTokens.`;
  throw impossible(name, message);
}

/** Throws if `keepLastTurns` exceeds a limit. Each turn has at least one message, so `maxMessages` limits turns too. */
function checkFloor({ keepLastTurns, maxMessages, maxTurns }: PolicyFields): void {
  for (const [name, ceiling] of Object.entries({ maxTurns, maxMessages })) {
    if (ceiling === 0 || keepLastTurns <= ceiling) continue;
    const message = `keepLastTurns ${keepLastTurns} asks for more than ${name} ${ceiling} allows. Lower keepLastTurns or raise ${name}.`;
    throw impossible("keepLastTurns", message);
  }
}

/** The limits of a model, in tokens. */
export interface ModelLimits {
  readonly window: number;
  /** The longest answer, if the catalog has it. */
  readonly output?: number;
}

/** Matches Claude names with a dot in the version, as gateways write them. */
const DOTTED_CLAUDE = /(claude-(?:[a-z]+-)?\d)\.(\d)/;

/**
 * The limits of a model, or undefined. A name is `provider:model`, `provider/model` or the model alone. The provider may
 * be anywhere before the model, as in "openrouter/openai/gpt-5" or "us.anthropic.claude-sonnet-4-20250514-v1:0". An
 * unknown provider may serve any model of the table. An equal name wins. Else the longest prefix that ends at a `-`, `@`
 * or `:` wins, so that dates and "latest" need no rows.
 */
export function limitsOf(model: string): ModelLimits | undefined {
  const row = rowOf(model.toLowerCase().replace(DOTTED_CLAUDE, "$1-$2"));
  if (row === undefined) return undefined;
  const [, window, output] = row;
  return output === undefined ? { window } : { window, output };
}

function rowOf(model: string): ModelRow | undefined {
  for (const { index } of model.matchAll(/[:/.]/g)) {
    const row = longest(rowsOf(model.slice(0, index)), model.slice(index + 1));
    if (row !== undefined) return row;
  }
  const name = model.slice(Math.max(model.lastIndexOf("/"), model.indexOf(":")) + 1);
  return longest(Object.values(MODEL_TABLE).flat(), name);
}

/** Returns the table rows of the provider whose name ends the text `before`. */
function rowsOf(before: string): readonly ModelRow[] {
  const name = before.slice(Math.max(before.lastIndexOf("/"), before.lastIndexOf(":"), before.lastIndexOf(".")) + 1);
  return (Object.hasOwn(MODEL_TABLE, name) ? MODEL_TABLE[name] : undefined) ?? [];
}

function longest(rows: readonly ModelRow[], name: string): ModelRow | undefined {
  let best: ModelRow | undefined;
  for (const row of rows) if (begins(row[0], name) && row[0].length > (best?.[0].length ?? 0)) best = row;
  return best;
}

/**
 * Whether `name` is the model `start` with a suffix. "gpt-5-2025-08-07" is "gpt-5", but "gpt-5.7" and "gpt-50" are
 * other models.
 */
function begins(start: string, name: string): boolean {
  return name.startsWith(start) && (name.length === start.length || /[-@:]/.test(name.charAt(start.length)));
}
