import type { JsonObject, JsonValue } from "../../thread/json.ts";

type Cached = { readonly cache_control?: { readonly type: "ephemeral" } };

export type AnthropicText = Cached & { readonly type: "text"; readonly text: string; readonly citations?: JsonValue };

type Source =
  | { readonly type: "url"; readonly url: string }
  | { readonly type: "base64"; readonly media_type: string; readonly data: string }
  | { readonly type: "text"; readonly media_type: "text/plain"; readonly data: string };

export type AnthropicFile = Cached &
  (
    | { readonly type: "image"; readonly source: Source }
    | { readonly type: "document"; readonly source: Source; readonly title?: string }
  );

export type AnthropicThinking =
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "redacted_thinking"; readonly data: string };

export type AnthropicToolUse = Cached & {
  readonly type: "tool_use";
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
};

export type AnthropicToolResult = Cached & {
  readonly type: "tool_result";
  readonly tool_use_id: string;
  readonly content: string | readonly (AnthropicText | AnthropicFile)[];
  readonly is_error?: true;
};

export type AnthropicBlock = AnthropicText | AnthropicFile | AnthropicThinking | AnthropicToolUse | AnthropicToolResult;

export interface AnthropicMessage {
  readonly role: "user" | "assistant";
  readonly content: readonly AnthropicBlock[];
}

export type AnthropicTool = Cached & {
  readonly name: string;
  readonly description?: string;
  readonly input_schema: JsonObject;
};
