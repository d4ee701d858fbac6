import type { ModelChoice, ProviderModel } from "../../agent/definition/language-model.ts";
import type { CallScope, PreparedCall, RequestScope, ToolChoiceSetting } from "../../agent/definition/prepare.ts";
import type { Tools } from "../../agent/definition/tool.ts";
import type { ReactAgent } from "../../agent/react/agent.ts";
import { byProvider, callSettingsOf, setPrompt, toolsFor } from "../../agent/react/call-context.ts";
import type { StoredRequestOptions } from "../../agent/signal.ts";
import type { HeldSettings } from "../../lanes/setting.ts";
import { isPlainObject, type JsonObject } from "../../thread/json.ts";
import type { Content } from "../../thread/message.ts";
import { storedOptions } from "../ask-options.ts";
import type { ToolFacts } from "../live/live.ts";
import { factsOf } from "../server/request-values.ts";
import { type HookLimit, hookAnswer } from "../time-limits.ts";
import type { ThreadOptions, TransientValues } from "./scene.ts";

/** A request that is asked, as it would be made. */
interface AskedCall {
  /** With the tools and the model of the request. */
  readonly agent: ReactAgent;
  readonly requestId: string;
  readonly content: Content;
  readonly options: StoredRequestOptions;
  readonly held: HeldSettings;
  /** The result of the agent's prompt function. */
  readonly systemPrompt: string | undefined;
  readonly context: unknown;
  readonly model: ProviderModel;
  readonly headers: TransientValues["headers"] | undefined;
  /** The code of all tools. */
  readonly tools: Tools;
}

/** The changes of `prepareCall`: what is stored with the ask, and what only this process has. */
interface ChangedCall {
  /** All options of the ask. */
  readonly options: StoredRequestOptions;
  readonly model?: ModelChoice | undefined;
  readonly headers?: TransientValues["headers"] | undefined;
  readonly tools?: { readonly code: Tools; readonly facts: ToolFacts } | undefined;
}

interface Place {
  readonly options: Pick<ThreadOptions, "definition" | "ports" | "threadId">;
  readonly hookLimit: HookLimit;
}

export const PREPARE_CALL = { name: "prepareCall", code: "prepare_call_failed" };

/** Calls `prepareCall`. Undefined: it changes nothing. Throws what it throws, and a TypeError or an error of an option for its result. */
export async function prepareCall(thread: Place, asked: AskedCall): Promise<ChangedCall | undefined> {
  const { definition, threadId } = thread.options;
  const { prepareCall: prepare } = definition;
  if (prepare === undefined) return undefined;
  const { requestId, context } = asked;
  const scope = { context: context as never, requestId, threadId }; // the caller has typed it
  const given = scopeOf(asked, scope);
  const answer: unknown = await hookAnswer(thread.hookLimit, PREPARE_CALL, () => prepare(given));
  if (answer === undefined || answer === null) return undefined;
  if (!isPlainObject(answer)) throw new TypeError("prepareCall returned no object.");
  return changedCall(thread, asked, given, changesIn(given, answer));
}

function scopeOf(
  { agent, content, options, held, systemPrompt, model, headers, tools }: AskedCall,
  scope: RequestScope<never>,
): CallScope<never> {
  const { responseFormat: _format, ...call } = callSettingsOf(agent, { options, iteration: 0 }, held);
  const instructions = setPrompt(agent.settings, held) ?? systemPrompt ?? agent.settings.systemPrompt;
  return {
    ...scope,
    options: scope.context,
    prompt: content,
    model,
    instructions,
    tools,
    activeTools: toolsFor(agent, options, held).map(({ name }) => name),
    headers,
    ...call,
  };
}

/** Names are checked, so that a typo, or a field that cannot be changed, is not ignored. */
const CHANGEABLE: { readonly [Field in keyof Required<PreparedCall>]: true } = {
  model: true,
  instructions: true,
  tools: true,
  activeTools: true,
  toolChoice: true,
  headers: true,
  maxOutputTokens: true,
  temperature: true,
  topP: true,
  stopSequences: true,
  seed: true,
  reasoning: true,
  providerOptions: true,
};

/** The fields with another value than the given one. */
function changesIn(given: CallScope<never>, answer: object): PreparedCall {
  const before = Object.entries(given);
  const changed = Object.entries(answer).filter(
    ([field, value]) => value !== undefined && !before.some(([name, known]) => name === field && known === value),
  );
  const refused = changed.find(([field]) => !Object.hasOwn(CHANGEABLE, field));
  if (refused !== undefined) throw new TypeError(`prepareCall cannot change ${refused[0]}.`);
  return Object.fromEntries(changed) as PreparedCall; // the values are checked as those of an ask
}

async function changedCall(
  thread: Place,
  { options: asked, tools: known }: AskedCall,
  given: CallScope<never>,
  { instructions, tools = known, activeTools, toolChoice, model, headers, ...call }: PreparedCall,
): Promise<ChangedCall> {
  if (instructions !== undefined && typeof instructions !== "string") throw new TypeError("instructions must be text.");
  const chosen = isPlainObject(toolChoice) && "toolName" in toolChoice ? { tool: toolChoice.toolName } : toolChoice;
  const choice = chosen as ToolChoiceSetting | undefined; // checked below
  const stored = await storedOptions({ ...call, toolChoice: choice, model, headers }, thread);
  const added = Object.entries(tools).filter(([name, tool]) => known[name] !== tool);
  const code = Object.fromEntries(added);
  const names = Object.keys(code);
  const shown = (activeTools ?? given.activeTools).filter((name) => activeTools || Object.hasOwn(tools, name));
  const isNarrowed = activeTools !== undefined || shown.length < given.activeTools.length;
  const isListed = isNarrowed || asked.allowedTools !== undefined;
  const allowed = [...new Set([...shown, ...(activeTools === undefined ? names : [])])];
  const before = asked.call?.["providerOptions"];
  const providerOptions = stored.call?.["providerOptions"] as JsonObject | undefined; // a checked option
  const settings = {
    ...asked.call,
    ...stored.call,
    ...(providerOptions !== undefined && { providerOptions: byProvider(before, providerOptions) }),
  };
  const options = {
    ...asked,
    ...stored,
    ...(stored.call && { call: settings }),
    ...(instructions !== undefined && { systemPrompt: instructions.toWellFormed() }),
    ...(names.length > 0 && { askedTools: [...new Set([...(asked.askedTools ?? []), ...names])] }),
    ...(isListed && { allowedTools: allowed }),
  };
  const more = names.length === 0 ? undefined : { code, facts: await factsOf(code, thread.hookLimit) };
  return { options, model, headers, tools: more };
}
