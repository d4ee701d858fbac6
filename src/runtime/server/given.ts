import { checkAgentTools } from "../../agent/definition/checks.ts";
import type { AnyAgent } from "../../agent/definition/config.ts";
import type { Tools } from "../../agent/definition/tool.ts";
import type { ReactAgent } from "../../agent/react/agent.ts";
import { setPrompt } from "../../agent/react/call-context.ts";
import type { HeldSettings } from "../../lanes/setting.ts";
import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import type { TokenCounter } from "../../tokens/counter.ts";
import { loadExactCounter } from "../../tokens/exact.ts";
import type { ErrorOrigin } from "../callbacks.ts";
import type { ToolFacts } from "../live/live.ts";
import { RequestError } from "../request/request-error.ts";
import { type HookLimit, hookAnswer } from "../time-limits.ts";
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
    systemPrompt = await hookAnswer(hookLimit, HOOK, () => make(context as never)); // as the caller typed it
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

/** What the model is told of tools; their schemas are converted here. */
export async function factsOf(tools: Tools, limit?: HookLimit): Promise<ToolFacts> {
  checkAgentTools(tools);
  return toolSettings(tools, limit);
}
