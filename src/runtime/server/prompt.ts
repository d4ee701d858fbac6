import type { AnyAgent } from "../../agent/definition/config.ts";
import { type HookLimit, hookAnswer } from "../hook.ts";
import type { ErrorOrigin } from "../on-error.ts";
import { RequestError } from "../request/request-error.ts";

const HOOK = { name: "The function that makes the system prompt", code: "system_prompt_failed" };

export interface PromptSource {
  readonly systemPrompt: AnyAgent["systemPrompt"];
  readonly hookLimit: HookLimit;
  readonly options: {
    readonly threadId: string;
    readonly onError: (error: unknown, origin: ErrorOrigin) => void;
  };
}

/** The system prompt of a request, if the prompt is a function of its context. */
export async function promptFor(
  { systemPrompt: make, options, hookLimit }: PromptSource,
  context: unknown,
): Promise<{ readonly systemPrompt?: string }> {
  if (typeof make !== "function") return {};
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
