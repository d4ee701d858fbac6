import type { MutableJson } from "../message-parts.ts";

// The types of LanguageModelV4Prompt as plain data. Arrays are mutable, because `doGenerate` requires it. Each prompt
// is a new copy, so the caller may change it.

/** Options for each provider, by its name. */
export type AISDKProviderOptions = { [provider: string]: { [key: string]: MutableJson | undefined } };

type WithOptions = { providerOptions?: AISDKProviderOptions };

/** A text part of a prompt. */
export type AISDKText = WithOptions & { type: "text"; text: string };

/** A file part of a prompt. */
export type AISDKFile = WithOptions & {
  type: "file";
  mediaType: string;
  filename?: string;
  data: { type: "url"; url: URL } | { type: "data"; data: string };
};

/** The result of a call. */
export type AISDKToolResult = WithOptions & {
  type: "tool-result";
  toolCallId: string;
  toolName: string;
  output:
    | { type: "text"; value: string }
    | { type: "json"; value: MutableJson }
    | { type: "error-text"; value: string }
    | { type: "error-json"; value: MutableJson }
    | { type: "content"; value: (AISDKText | AISDKFile)[] };
};

/** Any part of an assistant message. */
export type AISDKAssistantPart =
  | AISDKText
  | AISDKFile
  | (WithOptions & { type: "reasoning"; text: string })
  | (WithOptions & { type: "custom"; kind: `${string}.${string}` })
  | (WithOptions & {
      type: "tool-call";
      toolCallId: string;
      toolName: string;
      input: MutableJson;
      providerExecuted?: boolean;
    })
  | AISDKToolResult;

/** One message of a LanguageModelV4Prompt. */
export type AISDKMessage = WithOptions &
  (
    | { role: "system"; content: string }
    | { role: "user"; content: (AISDKText | AISDKFile)[] }
    | { role: "assistant"; content: AISDKAssistantPart[] }
    | { role: "tool"; content: AISDKToolResult[] }
  );
