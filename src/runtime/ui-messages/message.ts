import type { MutableJson } from "../../providers/metadata.ts";

// The shapes of UIMessage of the AI SDK as plain data. Lists are mutable, because only then they can be handed to useChat;
// every message is made anew and belongs to its caller.

/** The metadata of a provider in a UI message. */
export type UIProviderMetadata = { [provider: string]: { [key: string]: MutableJson | undefined } };

/** Text in a UI message. */
export type UITextPart = {
  type: "text";
  text: string;
  state?: "streaming" | "done";
  providerMetadata?: UIProviderMetadata;
};

/** A file in a UI message. */
export type UIFilePart = {
  type: "file";
  mediaType: string;
  filename?: string;
  url: string;
  providerMetadata?: UIProviderMetadata;
};

/** Thinking of the model in a UI message. */
export type UIReasoningPart = {
  type: "reasoning";
  text: string;
  state?: "streaming" | "done";
  providerMetadata?: UIProviderMetadata;
};

type UIToolCall = {
  type: `tool-${string}`;
  toolCallId: string;
  input: unknown;
  providerExecuted?: boolean;
  callProviderMetadata?: UIProviderMetadata;
};

/** A call and what became of it. */
export type UIToolPart = UIToolCall &
  (
    | { state: "input-available" }
    | { state: "approval-requested"; approval: { id: string } }
    | { state: "approval-responded"; approval: { id: string; approved: boolean; reason?: string } }
    | { state: "output-available"; output: unknown; approval?: { id: string; approved: true; reason?: string } }
    | { state: "output-error"; errorText: string; approval?: { id: string; approved: true; reason?: string } }
    | { state: "output-denied"; approval: { id: string; approved: false; reason?: string } }
  );

/** A source in a UI message. */
export type UISourcePart =
  | { type: "source-url"; sourceId: string; url: string; title?: string; providerMetadata?: UIProviderMetadata }
  | {
      type: "source-document";
      sourceId: string;
      mediaType: string;
      title: string;
      filename?: string;
      providerMetadata?: UIProviderMetadata;
    };

/** One part of a UI message. */
export type UIPart =
  | UITextPart
  | UIFilePart
  | UIReasoningPart
  | UIToolPart
  | UISourcePart
  | { type: "custom"; kind: `${string}.${string}`; providerMetadata?: UIProviderMetadata }
  | { type: "steering-message"; id: string; parts: (UITextPart | UIFilePart)[] }
  /** A steering message for AI SDK 6, which has no part for it. */
  | { type: "data-steering-message"; id: string; data: { parts: (UITextPart | UIFilePart)[] } }
  | { type: "step-start" };

/** How a request ended that gave no whole answer. */
export type UIRequestMark =
  /** `reason` is the text that `onError` makes of the failure; `code` is always the failure's own. */
  | { status: "failed"; code: string; reason: string }
  /** `reason` is what `cancel` was given. */
  | { status: "cancelled"; code: "request_cancelled"; reason: string };

/** The metadata of a message whose request was stopped or failed. Other messages have no metadata of Heddle. */
export type UIMessageMetadata = { heddle: UIRequestMark };

/** A message as `useChat` shows it. */
export type UIChatMessage = {
  id: string;
  role: "system" | "user" | "assistant";
  parts: UIPart[];
  metadata?: UIMessageMetadata;
};

/** A message as a browser sends it: anything may be in it. */
export type UIMessageLike = { readonly role: string; readonly parts: readonly { readonly type: string }[] };
