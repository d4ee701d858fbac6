import type { AgentConfig, AnyAgent, Limits } from "../../agent/definition/config.ts";
import { fieldProblem, modelChoiceProblem } from "../../agent/definition/define-agent.ts";
import { modelNames } from "../../agent/definition/language-model.ts";
import type { RequestLimits, StoredRequestOptions } from "../../agent/signal.ts";
import { checkedInput } from "../../projection/policy/policy.ts";
import { copyJsonObject, isPlainObject } from "../../thread/json.ts";
import type { Loop } from "../loop.ts";
import { RequestError } from "../request/request-error.ts";
import { outputSchemaOf } from "../structured-output.ts";
import type { AnyAskOptions, AskOptions } from "./options.ts";
import { CALL_FIELDS, callSettings } from "./settings.ts";

/**
 * The options of an ask as its entry stores them. Of functions and tools it stores only that they were passed. The
 * tools of the ask are always allowed: `allowedTools` chooses among those of the agent.
 */
export function storedOptions(
  options: AnyAskOptions,
  loop: Pick<Loop, "options" | "hookLimit">,
): StoredRequestOptions | Promise<StoredRequestOptions> {
  const { output } = options;
  const stored = dataOptions(options, loop);
  // An ask without a schema to convert is put at once, before commands that come after it.
  return output === undefined
    ? stored
    : outputSchemaOf(output, loop.hookLimit).then((schema) => ({ ...stored, output: schema }));
}

function dataOptions(
  options: AnyAskOptions,
  { options: { definition, ports } }: Pick<Loop, "options">,
): StoredRequestOptions {
  const { contextPolicy, allowedTools, maxIterations, context, tools = {}, headers, mode, model, deadline } = options;
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
    ...(deadline !== undefined && { deadline: timeOf(deadline, ports.clock()) }),
    ...(mode !== undefined && { mode: modeName(mode) }),
    ...(headers && { askedHeaders: headerNames(headers) }),
    ...(model !== undefined && { model: modelNames(model) }),
  };
}

/** The settings of the model call, with values that are JSON. */
function callOptions(options: AskOptions<unknown>): StoredRequestOptions["call"] {
  const given = CALL_FIELDS.filter((name) => options[name] !== undefined);
  if (given.length === 0) return undefined;
  for (const name of given) checked(name, options[name]);
  return copyJsonObject(callSettings(options, undefined), "options");
}

function limitsOf({ limits }: AskOptions<unknown>, { limits: own }: AnyAgent): RequestLimits | undefined {
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

/** The time of a deadline, in whole milliseconds. */
function timeOf(deadline: number | Date, now: number): number {
  const at = deadline instanceof Date ? deadline.getTime() : now + Math.ceil(deadline > 0 ? deadline : Number.NaN);
  if (Number.isSafeInteger(at)) return at;
  throw invalid("deadline", "must be a date, or a number of milliseconds above 0");
}

function modeName(mode: unknown): string {
  if (typeof mode === "string" && mode !== "") return mode;
  throw invalid("mode", "must be the name of one of the agent's modes");
}

function headerNames(headers: unknown): readonly string[] {
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
