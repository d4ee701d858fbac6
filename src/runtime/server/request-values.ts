import { checkAgentTools } from "../../agent/definition/checks.ts";
import type { AnyAgent } from "../../agent/definition/config.ts";
import type { Tools } from "../../agent/definition/tool.ts";
import type { ReactAgent } from "../../agent/react/agent.ts";
import { setPrompt } from "../../agent/react/call-context.ts";
import type { StoredRequestOptions } from "../../agent/signal.ts";
import type { HeldSettings } from "../../lanes/setting.ts";
import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import type { Refs } from "../../thread/entry.ts";
import type { TokenCounter } from "../../tokens/counter.ts";
import { loadExactCounter } from "../../tokens/exact.ts";
import type { ErrorOrigin } from "../callbacks.ts";
import type { ToolFacts } from "../live/live.ts";
import type { ThreadOptions, TransientValues } from "../perform/scene.ts";
import { RequestError } from "../request/request-error.ts";
import { type HookLimit, hookAnswer, retriedAnswer } from "../time-limits.ts";
import { toolSettings } from "./settings.ts";

const HOOK = { name: "The function that makes the system prompt", code: "system_prompt_failed" };

export interface PromptSource {
  readonly hookLimit: HookLimit;
  readonly options: {
    readonly definition: Pick<AnyAgent, "systemPrompt" | "modes" | "tokenCounter">;
    readonly threadId: string;
    readonly onError: (error: unknown, origin: ErrorOrigin) => void;
  };
}

/** The system prompt of a request, if the prompt is a function of its context and no other was set. */
export async function promptFor(
  { options, hookLimit }: PromptSource,
  held: HeldSettings,
  context: unknown,
): Promise<{ readonly systemPrompt?: string }> {
  const { systemPrompt: make } = options.definition;
  if (typeof make !== "function" || setPrompt(options.definition, held) !== undefined) return {};
  let systemPrompt: unknown;
  try {
    systemPrompt = await hookAnswer(hookLimit, HOOK, () => make(context as never)); // the caller has typed it
  } catch (cause) {
    options.onError(cause, { code: "system_prompt_failed", threadId: options.threadId });
    if (RequestError.isInstance(cause) && cause.code === HOOK.code) throw cause;
    throw failed("threw an error. See `cause`", cause);
  }
  if (typeof systemPrompt !== "string") throw failed("gave no text");
  return { systemPrompt: systemPrompt.toWellFormed() };
}

function failed(what: string, cause?: unknown): RequestError {
  const message = `The function that makes the system prompt ${what}. Nothing was asked.`;
  return new RequestError({ code: "system_prompt_failed", message, cause });
}

/** The exact counter, if the policy asks for one that the agent does not have. */
export async function loadCounter(
  { agent: { settings }, options: { definition } }: CounterSource,
  { tokenEstimator = settings.contextPolicy?.tokenEstimator }: ContextPolicyInput,
  model: string | undefined,
): Promise<TokenCounter | undefined> {
  if (tokenEstimator !== "exact" || definition.tokenCounter !== undefined) return undefined;
  return loadExactCounter(model ?? settings.model ?? "");
}

interface CounterSource {
  readonly agent: ReactAgent;
  readonly options: { readonly definition: Pick<AnyAgent, "tokenCounter"> };
}

/** The specifications of tools for the model, with converted schemas. */
export async function factsOf(tools: Tools, limit?: HookLimit): Promise<ToolFacts> {
  checkAgentTools(tools);
  return toolSettings(tools, limit);
}

/**
 * The context and the tools of an ask of another process. They are never stored, so functions of the server or host
 * make them.
 */
export async function makeAgain(
  { threadId, definition, context: contextOf, tools: toolsOf, headers: headersOf }: ValueFunctions,
  { refs, asked }: { readonly refs: Refs; readonly asked: StoredRequestOptions },
  limit: HookLimit,
): Promise<MadeAgain> {
  const context = await again("context", limit, () => contextOf(threadId, refs, definition.name));
  const tools = toolsOf && (await again("tools", limit, () => toolsOf(threadId, refs, definition.name)));
  const facts = tools === undefined ? undefined : await again("tools", limit, () => factsOf(checkTools(tools), limit));
  const headers =
    asked.askedHeaders &&
    headersOf &&
    (await again("headers", limit, () => headersOf(threadId, refs, definition.name)));
  return { context, tools, facts, headers };
}

type ValueFunctions = Pick<ThreadOptions, "threadId" | "definition" | "context" | "tools" | "headers">;

interface MadeAgain {
  readonly context: unknown;
  readonly tools?: Tools | undefined;
  readonly facts?: ToolFacts | undefined;
  readonly headers?: TransientValues["headers"] | undefined;
}

/** Checks the result of a caller without types. */
function checkTools(tools: Tools): Tools {
  if (typeof tools === "object" && tools !== null) return tools;
  throw new TypeError("The function `tools` must return an object with tools, or undefined.");
}

const FAILED = {
  context: { code: "context_failed" },
  tools: { code: "tools_failed" },
  headers: { code: "headers_failed" },
} as const;

export async function again<Value>(
  name: keyof typeof FAILED,
  limit: HookLimit,
  make: () => Value | Promise<Value>,
): Promise<Value> {
  try {
    return await retriedAnswer(limit, { name: `The function \`${name}\``, ...FAILED[name] }, make);
  } catch (cause) {
    throw limit.signal?.aborted ? cause : new ValueFunctionError(name, cause);
  }
}

/** The `context`, `tools` or `headers` function of the caller threw or did not answer. The request cannot be resumed. */
export class ValueFunctionError extends Error {
  readonly code: (typeof FAILED)[keyof typeof FAILED]["code"];

  constructor(name: keyof typeof FAILED, cause: unknown) {
    const { code } = FAILED[name];
    const isLate = RequestError.isInstance(cause) && cause.code === code;
    const message = isLate
      ? cause.message
      : `The function \`${name}\`, which makes the values of a resumed request, threw an error. See \`cause\` or onError, and ask again.`;
    super(message, { cause });
    this.code = code;
  }
}
