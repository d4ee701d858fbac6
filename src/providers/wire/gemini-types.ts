import type { JsonObject, JsonValue } from "../../thread/json.ts";

export type GeminiFile =
  | { readonly inlineData: { readonly mimeType: string; readonly data: string } }
  | { readonly fileData: { readonly mimeType: string; readonly fileUri: string } };

export type GeminiPart = { readonly thoughtSignature?: string } & (
  | { readonly text: string; readonly thought?: true }
  | { readonly functionCall: { readonly id: string; readonly name: string; readonly args: JsonObject } }
  | {
      readonly functionResponse: {
        readonly id: string;
        readonly name: string;
        readonly response: { readonly name: string; readonly content?: JsonValue; readonly error?: JsonValue };
        readonly parts?: readonly GeminiFile[];
      };
    }
  | GeminiFile
);

export interface GeminiContent {
  readonly role: "user" | "model";
  readonly parts: readonly GeminiPart[];
}

export interface GeminiBody {
  readonly systemInstruction?: { readonly parts: readonly { readonly text: string }[] };
  readonly contents: readonly GeminiContent[];
  readonly tools?: readonly [
    {
      readonly functionDeclarations: readonly {
        readonly name: string;
        readonly description: string;
        readonly parametersJsonSchema: JsonObject;
      }[];
    },
  ];
}
