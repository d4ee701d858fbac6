import type { AnyAgent } from "../../agent/definition/config.ts";
import { RequestError } from "../request/request-error.ts";

type Given = AnyAgent["systemPrompt"];

/** The system prompt where it is a function of who asks. */
export class Prompt {
  #given: Given;
  readonly #onError: (error: unknown) => void;

  constructor(given: Given, onError: (error: unknown) => void) {
    this.#given = given;
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
      systemPrompt = await given(context as never); // as the caller typed it
    } catch (cause) {
      this.#onError(cause);
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
