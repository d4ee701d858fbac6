import type { AgentConfig, AnyAgent, Limits } from "../agent/definition/config.ts";
import { fieldProblem, modelChoiceProblem } from "../agent/definition/define-agent.ts";
import { modelNames } from "../agent/definition/language-model.ts";
import { TIME_RULE, type Time, timeOf } from "../agent/definition/time.ts";
import type { RequestLimits, StoredRequestOptions } from "../agent/signal.ts";
import { checkedInput } from "../projection/policy/policy.ts";
import { copyJsonObject, isPlainObject, type JsonObject } from "../thread/json.ts";
import { knownNames, type OptionNames } from "../thread/options.ts";
import type { ThreadOptions } from "./perform/scene.ts";
import { RequestError } from "./request/request-error.ts";
import type { AnyAskOptions, AskCommand, AskOptions, AskTime } from "./server/options.ts";
import { CALL_FIELDS, callSettings } from "./server/settings.ts";
import { outputSchemaOf } from "./structured-output.ts";
import type { HookLimit } from "./time-limits.ts";

/** The options of an ask as its entry stores them, except for the schema of its answer. `now`: the time that a deadline counts from. */
function dataOptions(
  options: AnyAskOptions,
  { definition, now }: { readonly definition: Pick<AnyAgent, "limits">; readonly now: number },
): StoredRequestOptions {
  const {
    contextPolicy,
    allowedTools,
    maxIterations,
    context,
    tools = {},
    headers,
    mode,
    model,
    deadline,
    display,
    at,
  } = options;
  const names = Object.keys(tools);
  const call = callOptions(options);
  const limits = limitsOf(options, definition);
  if (model !== undefined) checkModel(model);
  return {
    ...(context !== undefined && { hasContext: true }),
    ...(names.length > 0 && { askedTools: names }),
    ...(contextPolicy && { contextPolicy: checkedInput(contextPolicy) }),
    ...(allowedTools && { allowedTools: [...new Set([...allowedTools, ...names])] }),
    ...(maxIterations !== undefined && { maxIterations: checked("maxIterations", maxIterations) }),
    ...(call && { call }),
    ...(limits && { limits }),
    ...(deadline !== undefined && { deadline: checkedTime("deadline", deadline, timeOfAsk(at, now) ?? now) }),
    ...(mode !== undefined && { mode: modeName(mode) }),
    ...(headers && { askedHeaders: headerNames(headers) }),
    ...(model !== undefined && { model: modelNames(model) }),
    ...(display !== undefined && { display: copyJsonObject(display, "display") }),
  };
}

type AskData = Omit<
  AskCommand,
  "id" | "type" | "content" | "agent" | "at" | "refs" | "author" | "owner" | "idempotencyRef"
>;

const ASK_DATA: OptionNames<AskData> = {
  contextPolicy: true,
  allowedTools: true,
  maxIterations: true,
  maxOutputTokens: true,
  temperature: true,
  topP: true,
  stopSequences: true,
  seed: true,
  reasoning: true,
  toolChoice: true,
  providerOptions: true,
  limits: true,
  deadline: true,
  mode: true,
  model: true,
  display: true,
  output: true,
};

/** Stands for the agent's price in checks of a command, where the agent is not known. `prepareAsk` checks the price itself. */
const PRICED = { limits: { costUsd: () => 0 } };

/** The options in a posted ask, which may be malformed, as the entry of an ask stores them. */
export function postedOptions(body: JsonObject, postedAt: number): StoredRequestOptions {
  const names = Object.keys(ASK_DATA);
  const unknown = Object.keys(body).find((name) => !names.includes(name));
  if (unknown !== undefined) throw invalid(unknown, `is no option of a posted ask. ${knownNames(unknown, names)}`);
  const { output, model, allowedTools, ...others } = body;
  for (const [name, value] of Object.entries({ model, allowedTools })) {
    const isFine = value === undefined || isTexts(value) || (name === "model" && typeof value === "string");
    if (!isFine) throw invalid(name, "of a posted ask must be names");
  }
  if (output !== undefined && !isPlainObject(output)) throw invalid("output", "of a posted ask must be a JSON Schema");
  const options = dataOptions({ model, allowedTools, ...others } as AskOptions, { definition: PRICED, now: postedAt }); // each field is checked there
  return output === undefined ? options : { ...options, output: output as JsonObject }; // a row is JSON
}

/** A limit of cost needs the prices of the agent. */
export function checkPrices({ limits }: StoredRequestOptions, { limits: own }: Pick<AnyAgent, "limits">): void {
  if (limits !== undefined) checked("limits", { ...limits, costUsd: own?.costUsd });
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

/** The settings of the model call, with values that are JSON. */
function callOptions(options: AskOptions<unknown>): StoredRequestOptions["call"] {
  const given = CALL_FIELDS.filter((name) => options[name] !== undefined);
  if (given.length === 0) return undefined;
  for (const name of given) checked(name, options[name]);
  return copyJsonObject(callSettings(options, undefined), "options");
}

function limitsOf(
  { limits }: AskOptions<unknown>,
  { limits: own }: Pick<AnyAgent, "limits">,
): RequestLimits | undefined {
  if (limits === undefined) return undefined;
  if (!isPlainObject(limits) || "costUsd" in limits) {
    throw invalid("limits", "of an ask must be { maxTokens?, maxCostUsd? }; costUsd is a field of the agent's limits");
  }
  const { maxTokens, maxCostUsd }: Limits = checked("limits", { ...limits, costUsd: own?.costUsd });
  return { ...(maxTokens !== undefined && { maxTokens }), ...(maxCostUsd !== undefined && { maxCostUsd }) };
}

function checkModel(model: unknown): void {
  const problem = modelChoiceProblem(model);
  if (problem !== undefined) throw invalid("model", problem);
}

/** A number that counts from 1970 would be decades away as milliseconds from now. */
const FARTHEST_MS = 10 * 366 * 24 * 3_600_000;
const FAR = "must be at most ten years away: a number counts in milliseconds from now, and not from 1970";

/** The time of an option, in milliseconds since 1970. */
function checkedTime(name: string, given: Time, now: number): number {
  const at = timeOf(given, now);
  if (at === undefined) throw invalid(name, TIME_RULE);
  if (at - now > FARTHEST_MS) throw invalid(name, `${FAR}. Otherwise it ${TIME_RULE}`);
  return at;
}

/** The time of an ask, in milliseconds since 1970. */
export function timeOfAsk(at: AskOptions["at"], now: number): number | undefined {
  return at === undefined ? undefined : checkedTime("at", at, now);
}

/** The options with their times as dates: a number of milliseconds counts from now. A wrong one is refused later. */
export function withDates<Options extends AskTime & { readonly deadline?: Time | undefined }>(
  options: Options,
  now: number,
): Options {
  const { deadline } = options;
  const at = options.at === undefined ? undefined : timeOf(options.at, now);
  const last = typeof deadline === "number" ? timeOf(deadline, at ?? now) : undefined;
  return {
    ...options,
    ...(at !== undefined && { at: new Date(at) }),
    ...(last !== undefined && { deadline: new Date(last) }),
  };
}

function modeName(mode: unknown): string | null {
  if (mode === null || (typeof mode === "string" && mode !== "")) return mode;
  throw invalid("mode", "must be the name of one of the agent's modes, or null for none");
}

export function headerNames(headers: unknown): readonly string[] {
  const isFine = isPlainObject(headers) && Object.values(headers).every((value) => typeof value === "string");
  if (!isFine) throw invalid("headers", "must be an object of texts");
  return Object.keys(headers);
}

function checked<Value>(name: keyof AgentConfig, value: Value): Value {
  const problem = fieldProblem(name, value);
  if (problem !== undefined) throw invalid(name, problem);
  return value;
}

function invalid(name: string, problem: string): RequestError {
  return new RequestError({ code: "invalid_options", message: `${name} ${problem}.` });
}

interface OptionSource {
  readonly options: Pick<ThreadOptions, "definition" | "ports">;
}

/**
 * The options of an ask as its entry stores them. Of functions and tools it stores only that they were passed. The
 * tools of the ask are always allowed: `allowedTools` chooses among those of the agent.
 */
export function storedOptions(
  options: AnyAskOptions,
  thread: OptionSource & { readonly hookLimit: HookLimit },
): StoredRequestOptions | Promise<StoredRequestOptions> {
  const { output } = options;
  const { definition, ports } = thread.options;
  const stored = dataOptions(options, { definition, now: ports.clock() });
  // An ask without a schema to convert is put at once, before commands that come after it.
  return output === undefined
    ? stored
    : outputSchemaOf(output, thread.hookLimit).then((schema) => ({ ...stored, output: schema }));
}
