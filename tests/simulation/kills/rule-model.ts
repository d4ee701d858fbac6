import type { ModelCallOptions, ProviderModel } from "../../../src/agent/definition/language-model.ts";

/** What a model says: a text, calls of tools, an error that it throws, or silence until it is aborted. */
type Said =
  | string
  | { readonly calls: readonly (readonly [name: string, serial: number])[] }
  | { readonly error: Error; readonly after?: string }
  /** The stream closes behind this text, without an end. */
  | { readonly cut: string }
  | { readonly silence: string };

/** The prompt, as text, decides what is said: the same in every process, however often it is asked. */
export type Rules = (prompt: string) => Said;

export function ruleModel(rules: Rules, thinks: () => Promise<void> = async () => undefined): ProviderModel {
  return {
    specificationVersion: "v4",
    provider: "rules",
    modelId: "one",
    async doGenerate({ prompt }: ModelCallOptions) {
      await thinks();
      const said = rules(JSON.stringify(prompt));
      if (typeof said === "object" && "error" in said) throw said.error;
      const content = partsOf(said).flatMap((part) => {
        const { type, delta } = part as { readonly type: string; readonly delta?: string };
        return type === "text-delta" ? [{ type: "text", text: delta }] : type === "tool-call" ? [part] : [];
      });
      return { content, finishReason: { unified: "stop", raw: "stop" }, usage: USAGE };
    },
    async doStream({ prompt }: ModelCallOptions) {
      await thinks();
      const said = rules(JSON.stringify(prompt));
      if (typeof said === "object" && "error" in said && said.after === undefined) throw said.error;
      const parts = partsOf(said);
      const end = { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage: USAGE };
      const read = async () => {
        const part = parts.shift();
        if (part !== undefined) return { done: false, value: part };
        if (typeof said === "object" && "error" in said) throw said.error;
        if (typeof said === "object" && "cut" in said) return { done: true, value: undefined };
        if (typeof said === "object" && "silence" in said) return new Promise<never>(() => undefined);
        return { done: false, value: end };
      };
      return { stream: { getReader: () => ({ read, cancel: async () => undefined }) } };
    },
  };
}

const USAGE = { inputTokens: { total: 10 }, outputTokens: { total: 5 } };

function partsOf(said: Said): object[] {
  if (typeof said === "string") return text(said);
  if ("cut" in said) return text(said.cut);
  if ("silence" in said) return text(said.silence);
  if ("error" in said) return text(said.after ?? "");
  return said.calls.map(([toolName, serial], index) => ({
    type: "tool-call",
    toolCallId: `call_${index}`,
    toolName,
    input: JSON.stringify({ serial }),
  }));
}

function text(delta: string): object[] {
  return [
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta },
    { type: "text-end", id: "t" },
  ];
}
