import type { JsonObject } from "../json.ts";
import type { Message } from "../message.ts";
import type { MessageFormat } from "./formats.ts";

/** The message type of each format of `toMessages({ format })`. Formats of a provider are plain JSON here. */
interface MessageOfFormat {
  readonly neutral: Message;
  readonly "model-messages": SdkMessage;
  readonly "openai-chat": JsonObject;
  readonly anthropic: JsonObject;
  readonly "ui-messages": JsonObject;
}

/** The message type of a format. A new format without one is a compile error. */
export type MessageOf<Format extends MessageFormat> = MessageOfFormat[Format];

// The shapes of the AI SDK's ModelMessage as plain data, so that the SDK need not be installed. Arrays are mutable, as the
// SDK requires. Each list is a new copy that belongs to the caller.

type Json = string | number | boolean | null | Json[] | { [key: string]: Json | undefined };

type WithOptions = { providerOptions?: { [provider: string]: { [key: string]: Json | undefined } } };

type SdkText = WithOptions & { type: "text"; text: string };

type SdkFile = WithOptions & { type: "file"; mediaType: string; filename?: string; data: string | Uint8Array | URL };

type SdkToolResult = WithOptions & {
  type: "tool-result";
  toolCallId: string;
  toolName: string;
  output:
    | { type: "text" | "error-text"; value: string }
    | { type: "json" | "error-json"; value: Json }
    | { type: "content"; value: SdkText[] };
};

type SdkAssistantPart =
  | SdkText
  | SdkFile
  | (WithOptions & { type: "reasoning"; text: string })
  | (WithOptions & {
      type: "tool-call";
      toolCallId: string;
      toolName: string;
      input: unknown;
      providerExecuted?: boolean;
    })
  | SdkToolResult;

/** A message as `generateText` and `streamText` of the AI SDK accept it. */
type SdkMessage = WithOptions &
  (
    | { role: "system"; content: string }
    | { role: "user"; content: string | (SdkText | SdkFile)[] }
    | { role: "assistant"; content: string | SdkAssistantPart[] }
    | { role: "tool"; content: SdkToolResult[] }
  );
