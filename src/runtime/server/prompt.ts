import type { AnyAgent } from "../../agent/definition/config.ts";
import { type HookLimit, hookAnswer } from "../hook.ts";
import { RequestError } from "../request/request-error.ts";

type Given = AnyAgent["systemPrompt"];

const HOOK = { name: "The function that makes the system prompt", code: "system_prompt_failed" };

/** The system prompt where it is a function of who asks. */
export class Prompt {
  #given: Given;
  readonly #limit: HookLimit;
  readonly #onError: (error: unknown) => void;

  constructor(given: Given, limit: HookLimit, onError: (error: unknown) => void) {
    this.#given = given;
    this.#limit = limit;
    this.#onError = onError;
  }

  set(given: Given): void {
    this.#given = given;
  }

  /** Of a request; nothing where the agent's settings have it as text. */
  async of(context: unknown): Promise<{ readonly systemPrompt?: string }> {
    const given = this.#given;
    if (typeof given !== "function") return {};
    let systemPrompt: unknown;
    try {
      systemPrompt = await hookAnswer(this.#limit, HOOK, () => given(context as never)); // as the caller typed it
    } catch (cause) {
      this.#onError(cause);
      if (RequestError.isInstance(cause) && cause.code === HOOK.code) throw cause;
      throw failed("threw an error. See `cause`", cause);
    }
    if (typeof systemPrompt !== "string") throw failed("gave no text");
    return { systemPrompt: systemPrompt.toWellFormed() };
  }
}

function failed(what: string, cause?: unknown): RequestError {
  const message = `The function that makes the system prompt ${what}. Nothing was asked.`;
  return new RequestError({ code: "system_prompt_failed", message, cause });
}
