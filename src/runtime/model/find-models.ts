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
import { type HookLimit, hookAnswer, retriedAnswer } from "../time-limits.ts";

/** Where models are found, and how long the functions of the caller may take. */
export interface ModelSources {
  readonly options: Pick<ThreadOptions, "definition" | "resolveModel" | "threadId" | "onError"> & {
    readonly warnOnce?: ThreadOptions["warnOnce"] | undefined;
  };
  readonly hookLimit: HookLimit;
  /** The request was accepted with these models. Any of them is enough to resume it. */
  readonly isResumed?: boolean;
  /** The thread was handed over: names that this agent does not know were set for an agent before. */
  readonly wasHandedOver?: boolean;
}

/** The models of a request. */
export interface RequestModels {
  readonly models: readonly ProviderModel[];
  /** The names of these models. If none was found, the names that were searched; undefined if a function has to choose. */
  readonly names: readonly string[] | undefined;
  /** Their names for the log. Absent: they follow from the agent and its settings. */
  readonly stored?: readonly string[];
}

/** The names of the models of a request for the agent. */
export function namesOf({ names = [], stored }: RequestModels): NonNullable<RequestValues["models"]> {
  return { names, ...(stored && { stored }) };
}

/** The models that `setModel` or the mode has set; the later one wins. */
export function setModels({ modes = {} }: AnyAgent, { mode, model, overMode }: HeldSettings): ModelChoice | undefined {
  const ofMode = mode !== undefined && Object.hasOwn(modes, mode) ? modes[mode]?.model : undefined;
  return overMode?.model ? model : (ofMode ?? model);
}

type Scope = ModelScope<never>;

/**
 * The models of a new request: those of the ask, else those that were set, else the agent's. Undefined if the agent's own
 * models need no search. An unknown name is a RequestError `model_unresolved`.
 */
export async function chooseModels(
  sources: ModelSources,
  asked: ModelChoice | undefined,
  held: HeldSettings,
  scope: Scope,
): Promise<RequestModels | undefined> {
  const { definition } = sources.options;
  if (asked !== undefined) return { ...(await foundOf(sources, asked)), stored: modelNames(asked) };
  const choice = setModels(definition, held);
  const search = choice === undefined ? undefined : foundOf(sources, choice).catch(unlessHandedOver(sources));
  const found = await search;
  if (found !== undefined) return found;
  if (typeof definition.model !== "function") {
    return ownModels(definition).length > 0 ? undefined : foundOf(sources, definition.model);
  }
  const chosen = await callModelFunction(sources, scope);
  return { ...(await foundOf(sources, chosen)), stored: modelNames(chosen) };
}

function unlessHandedOver({ wasHandedOver }: ModelSources): (error: unknown) => undefined {
  return (error) => {
    const isUnknown = RequestError.isInstance(error) && error.code === RESOLVE.code;
    if (!wasHandedOver || !isUnknown) throw error;
  };
}

/** The models that are found of a choice, and their names. */
export async function foundOf(sources: ModelSources, choice: ModelChoice): Promise<RequestModels> {
  const models = await findKnownModels(sources, choice);
  return { models, names: models.map(qualifiedModelName) };
}

/** The models of a request that is resumed. They are empty where none was found: they are searched again for its next call. */
export async function findModelsAgain(
  given: ModelSources,
  stored: readonly string[] | undefined,
  held: HeldSettings,
  scope: Scope,
): Promise<RequestModels | undefined> {
  const sources = { ...given, isResumed: true };
  const { definition } = sources.options;
  const { model } = definition;
  const choice = stored ?? setModels(definition, held) ?? (typeof model === "function" ? undefined : model);
  try {
    if (stored === undefined) return await chooseModels(sources, undefined, held, scope);
    const isKnown = typeof model !== "function";
    const found = await foundOf(sources, stored).catch(async (error: unknown) => {
      if (isKnown || sources.hookLimit.signal?.aborted) throw error;
      const chosen = await callModelFunction(sources, scope); // it may return models with the stored names
      const models = await findKnownModels(sources, stored, chosen);
      return { models, names: models.map(qualifiedModelName) };
    });
    return { ...found, stored };
  } catch (error) {
    if (sources.hookLimit.signal?.aborted) throw error;
    return { models: [], names: choice === undefined ? undefined : modelNames(choice), ...(stored && { stored }) };
  }
}

/** The models of a choice, in order. A name after the first that leads to none is a warning, and is left out. */
export async function findKnownModels(
  sources: ModelSources,
  choice: ModelChoice,
  known?: ModelChoice,
): Promise<readonly ProviderModel[]> {
  const { hookLimit, isResumed = false, options } = sources;
  const found = await Promise.allSettled(modelList(choice).map((item) => findModels(sources, [item], known)));
  const isFound = found.some(({ status }) => status === "fulfilled");
  return found.flatMap((result, index) => {
    if (result.status === "fulfilled") return result.value;
    const reason: unknown = result.reason;
    const isNeeded = isResumed ? !isFound : index === 0;
    if (isNeeded || hookLimit.signal?.aborted || !RequestError.isInstance(reason)) throw reason;
    options.warnOnce?.(`Thread ${options.threadId}: ${reason.message} The list of models is used without it.`);
    return [];
  });
}

/** All models of a choice, in order. An unknown name is an error. Names are also looked up in `known`. */
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
      const resolved = await retriedAnswer(hookLimit, RESOLVE, () => resolveModel(name));
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
  const choose = definition.model as (scope: Scope) => ModelChoice | Promise<ModelChoice>; // the caller has checked that it is a function
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
