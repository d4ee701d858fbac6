import type { AnyAgent, ModelScope } from "../../agent/definition/config.ts";
import { modelChoiceProblem, modelProblem } from "../../agent/definition/define-agent.ts";
import {
  type ModelChoice,
  modelList,
  modelNames,
  type ProviderModel,
  qualifiedModelName,
  staticModels,
} from "../../agent/definition/language-model.ts";
import type { HeldSettings } from "../../lanes/setting.ts";
import type { RequestValues } from "../live/signal.ts";
import { ownModels, type ThreadOptions } from "../perform/scene.ts";
import { RequestError } from "../request/request-error.ts";
import { type HookLimit, hookAnswer } from "../time-limits.ts";

/** Where models are found, and how long the functions of the caller may take. */
export interface ModelSources {
  readonly options: Pick<ThreadOptions, "definition" | "resolveModel" | "threadId" | "onError">;
  readonly hookLimit: HookLimit;
}

/** The models of a request. */
export interface RequestModels {
  readonly models: readonly ProviderModel[];
  /** Their names for the log. Absent: they follow from the agent and its settings. */
  readonly stored?: readonly string[];
}

/** The names of the models of a request, also of those that were not found. */
export function namesOf({ models, stored }: RequestModels): NonNullable<RequestValues["models"]> {
  return { names: models.length > 0 ? models.map(qualifiedModelName) : (stored ?? []), ...(stored && { stored }) };
}

/** The models that were set: by themselves, or by a mode. */
export function setModels({ modes = {} }: AnyAgent, { mode, model, overMode }: HeldSettings): ModelChoice | undefined {
  const ofMode = mode !== undefined && Object.hasOwn(modes, mode) ? modes[mode]?.model : undefined;
  return overMode?.model ? model : (ofMode ?? model);
}

type Scope = ModelScope<never>;

/**
 * The models of a request that is asked: those of the ask, else those that were set, else the agent's. Undefined: those that
 * the agent has without a search. An unknown name is `model_unresolved`.
 */
export async function chooseModels(
  sources: ModelSources,
  asked: ModelChoice | undefined,
  held: HeldSettings,
  scope: Scope,
): Promise<RequestModels | undefined> {
  const { definition } = sources.options;
  const choice = asked ?? setModels(definition, held);
  if (choice !== undefined) {
    return { models: await findModels(sources, choice), ...(asked !== undefined && { stored: modelNames(asked) }) };
  }
  if (typeof definition.model !== "function") {
    return ownModels(definition).length > 0 ? undefined : { models: await findModels(sources, definition.model) };
  }
  const chosen = await callModelFunction(sources, scope);
  return { models: await findModels(sources, chosen), stored: modelNames(chosen) };
}

/** The models of a request that is resumed. They are empty where one was not found: the request then makes no call. */
export async function findModelsAgain(
  sources: ModelSources,
  stored: readonly string[] | undefined,
  held: HeldSettings,
  scope: Scope,
): Promise<RequestModels | undefined> {
  const { model } = sources.options.definition;
  try {
    if (stored === undefined) return await chooseModels(sources, undefined, held, scope);
    const isKnown = typeof model !== "function";
    const models = await findModels(sources, stored).catch(async (error: unknown) => {
      if (isKnown || sources.hookLimit.signal?.aborted) throw error;
      return findModels(sources, stored, await callModelFunction(sources, scope)); // it may return the same models
    });
    return { models, stored };
  } catch (error) {
    if (sources.hookLimit.signal?.aborted) throw error;
    return { models: [], ...(stored && { stored }) };
  }
}

/** The models of a choice, in order. `known` has more of them. */
export function findModels(
  sources: ModelSources,
  choice: ModelChoice,
  known?: ModelChoice,
): Promise<readonly ProviderModel[]> {
  return Promise.all(
    modelList(choice).map((item) => (typeof item === "string" ? findModel(sources, item, known) : item)),
  );
}

const RESOLVE = { name: "The function `resolveModel`", code: "model_unresolved" };

async function findModel(
  { options, hookLimit }: ModelSources,
  name: string,
  known: ModelChoice = [],
): Promise<ProviderModel> {
  const { definition, resolveModel = definition.resolveModel, threadId, onError } = options;
  const { models = {}, modes = {}, model } = definition;
  const ofModes = Object.values(modes).flatMap((mode) => modelList(mode.model ?? []));
  const named = Object.hasOwn(models, name) ? models[name] : undefined;
  const own = [...staticModels(model), ...ofModes, ...modelList(known)].filter((item) => typeof item !== "string");
  const found = named ?? own.find((item) => qualifiedModelName(item) === name);
  if (found !== undefined) return found;
  let trouble = "no `resolveModel` is given";
  let cause: unknown;
  if (resolveModel !== undefined) {
    try {
      const resolved = await hookAnswer(hookLimit, RESOLVE, () => resolveModel(name));
      const problem = resolved === undefined ? "does not know it" : modelProblem(resolved);
      if (resolved !== undefined && problem === undefined) return resolved;
      trouble = `\`resolveModel\` ${resolved === undefined ? problem : `gave none: a model ${problem}`}`;
    } catch (error) {
      if (hookLimit.signal?.aborted) throw error;
      onError(error, { code: RESOLVE.code, threadId });
      cause = error;
      trouble = "`resolveModel` failed";
    }
  }
  const message = `There is no model ${JSON.stringify(name)}: the agent's \`models\` do not have it, and ${trouble}.`;
  throw new RequestError({ code: RESOLVE.code, message, cause });
}

const CHOOSE = { name: "The function `model`", code: "model_selection_failed" };

async function callModelFunction({ options, hookLimit }: ModelSources, scope: Scope): Promise<ModelChoice> {
  const { definition, threadId, onError } = options;
  const choose = definition.model as (scope: Scope) => ModelChoice | Promise<ModelChoice>; // the caller has looked
  let choice: ModelChoice;
  try {
    choice = await hookAnswer(hookLimit, CHOOSE, () => choose(scope));
  } catch (cause) {
    if (hookLimit.signal?.aborted) throw cause;
    onError(cause, { code: CHOOSE.code, threadId, requestId: scope.state.requestId });
    if (RequestError.isInstance(cause) && cause.code === CHOOSE.code) throw cause;
    const message = "The function `model` threw an error. See `cause`. Nothing was asked.";
    throw new RequestError({ code: CHOOSE.code, message, cause });
  }
  const problem = modelChoiceProblem(choice);
  if (problem === undefined) return choice;
  throw new RequestError({ code: CHOOSE.code, message: `The function \`model\` gave none: a model ${problem}.` });
}
