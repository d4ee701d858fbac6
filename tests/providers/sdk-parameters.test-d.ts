import type { toAnthropic, toGemini, toOpenAIChat, toOpenAIResponses } from "heddle/providers";
import { expectTypeOf, test } from "vitest";

// The parameters of the official SDKs, as far as the formatters fill them. Their lists are mutable.

type Text = { type: "text"; text: string; citations?: { type: "char_location"; cited_text: string }[] | null };
type Source<Type> = { type: "base64"; media_type: Type; data: string } | { type: "url"; url: string };
type Image = { type: "image"; source: Source<"image/jpeg" | "image/png" | "image/gif" | "image/webp"> };
type PlainText = { type: "text"; media_type: "text/plain"; data: string };
type Document = { type: "document"; source: Source<"application/pdf"> | PlainText; title?: string | null };
type Result = { type: "tool_result"; tool_use_id: string; content?: string | (Text | Image | Document)[] };
type Thinking = { type: "thinking"; thinking: string; signature: string } | { type: "redacted_thinking"; data: string };
type Call = { type: "tool_use"; id: string; name: string; input: unknown };
type Schema = { type: "object"; properties?: unknown; required?: string[] | null; [field: string]: unknown };

interface AnthropicParameters {
  system?: string | Text[];
  messages: { role: "user" | "assistant"; content: string | (Text | Image | Document | Result | Thinking | Call)[] }[];
  tools?: { name: string; description?: string; input_schema: Schema }[];
}

type Detail = "auto" | "low" | "high" | "original";
type ChatPart =
  | { type: "text"; text: string }
  | { type: "image_url"; image_url: { url: string; detail?: Detail } }
  | { type: "input_audio"; input_audio: { data: string; format: "wav" | "mp3" } }
  | { type: "file"; file: { filename?: string; file_data?: string } };
type ChatCall = { id: string; type: "function"; function: { name: string; arguments: string } };

interface ChatParameters {
  messages: (
    | { role: "system"; content: string }
    | { role: "user"; content: string | ChatPart[] }
    | { role: "assistant"; content?: string | null; tool_calls?: ChatCall[] }
    | { role: "tool"; tool_call_id: string; content: string }
  )[];
  tools?: {
    type: "function";
    function: { name: string; description?: string; parameters?: { [field: string]: unknown } };
  }[];
}

type ResponsesPart =
  | { type: "input_text"; text: string }
  | { type: "input_image"; image_url?: string | null; detail: Detail }
  | { type: "input_file"; file_url?: string | null; filename?: string; file_data?: string };

interface ResponsesParameters {
  input?:
    | string
    | (
        | {
            role: "system" | "user" | "assistant";
            content: string | ResponsesPart[];
            phase?: "commentary" | "final_answer";
          }
        | {
            type: "reasoning";
            id: string;
            encrypted_content?: string;
            summary: { type: "summary_text"; text: string }[];
          }
        | { type: "function_call"; call_id: string; name: string; arguments: string }
        | { type: "function_call_output"; call_id: string; output: string | ResponsesPart[] }
      )[];
  tools?: { type: "function"; name: string; parameters: { [field: string]: unknown } | null; strict: boolean | null }[];
  store?: boolean | null;
}

interface GeminiPart {
  text?: string;
  thought?: boolean;
  thoughtSignature?: string;
  inlineData?: { mimeType?: string; data?: string };
  fileData?: { mimeType?: string; fileUri?: string };
  functionCall?: { id?: string; name?: string; args?: { [field: string]: unknown } };
  functionResponse?: { id?: string; name?: string; response?: { [field: string]: unknown }; parts?: GeminiPart[] };
}

interface GeminiParameters {
  systemInstruction?: { parts?: GeminiPart[] };
  contents: { role?: string; parts?: GeminiPart[] }[];
  tools?: { functionDeclarations?: { name?: string; description?: string; parametersJsonSchema?: unknown }[] }[];
}

test("a request can be handed to the official SDK of its provider as it is", () => {
  expectTypeOf<ReturnType<typeof toAnthropic>>().toExtend<AnthropicParameters>();
  expectTypeOf<ReturnType<typeof toOpenAIChat>>().toExtend<ChatParameters>();
  expectTypeOf<ReturnType<typeof toOpenAIResponses>>().toExtend<ResponsesParameters>();
  expectTypeOf<ReturnType<typeof toGemini>>().toExtend<GeminiParameters>();
});
