import { type ScriptedAnswer, type ScriptedModel, scriptedModel } from "heddle/testing";

interface Asked {
  readonly system: string;
  readonly messages: readonly { readonly role: string; readonly text?: string }[];
}

interface WindowedModelOptions {
  readonly provider: string;
  readonly modelId: string;
  /** Tokens of four characters. */
  readonly window: number;
  /** What it answers to what fits. */
  readonly answer: (request: Asked) => string | ScriptedAnswer;
}

/** A model that refuses longer prompts as Anthropic does, with both numbers, and reports what each prompt takes. */
export function windowedModel({ provider, modelId, window, answer }: WindowedModelOptions): ScriptedModel {
  const step = (request: Asked): ScriptedAnswer => {
    const tokens = promptTokens(request);
    if (tokens > window) {
      const message = `prompt is too long: ${tokens} tokens > ${window} maximum`;
      return { error: { status: 400, message } };
    }
    const said = answer(request);
    return { usage: { inputTokens: tokens, outputTokens: 10 }, ...(typeof said === "string" ? { text: said } : said) };
  };
  return scriptedModel(
    Array.from({ length: 1000 }, () => step as never),
    { provider, modelId },
  );
}

/** Everything that a request holds, as its JSON. */
export function promptTokens(request: Asked): number {
  const { system, messages } = request;
  return Math.ceil((system.length + JSON.stringify(messages).length) / 4);
}
