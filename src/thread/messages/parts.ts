import type { JsonValue } from "../json.ts";
import type { Content, Part, PartMetadata } from "../message.ts";
import { textOf } from "../results.ts";
import type { Field } from "./field.ts";
import { readFile } from "./files.ts";
import { contentOf, metadataOf } from "./said.ts";

/** Reads a part of any format. Undefined for an unknown type, which is kept in the original and never shown to a model. */
export function readPart(part: Field): Part | undefined {
  const { type } = part;
  switch (type) {
    case "text":
    case "refusal":
      return { type: "text", text: part.at(type).text, ...metadataIn(part) };
    case "reasoning":
      return { type: "thinking", text: part.at("text").text, ...metadataIn(part) };
    case "thinking":
      return { type, text: part.at("thinking").text, ...ofClaude("signature", part.at("signature")) };
    case "redacted_thinking":
      return { type: "thinking", text: "", ...ofClaude("redactedData", part.at("data")) };
    case "custom":
      return { type, kind: part.at("kind").text, ...metadataIn(part) };
    case "source-url":
    case "source-document": {
      const { sourceId, providerMetadata: _metadata, ...source } = part.object;
      return { ...source, type: "source", sourceType: type.slice("source-".length), id: sourceId, ...metadataIn(part) };
    }
    default: {
      if (!/^(file|image|document|input_audio|media)/.test(type)) return undefined;
      const file = readFile(part);
      return file && { ...file, ...metadataIn(part) };
    }
  }
}

export function readContent(field: Field): Content {
  return typeof field.value === "string" ? field.value : contentOf(field.list.flatMap((part) => readPart(part) ?? []));
}

function ofClaude(name: string, { value }: Field): { readonly metadata?: PartMetadata } {
  return metadataOf({ anthropic: { [name]: value } });
}

function metadataIn(part: Field): { readonly metadata?: PartMetadata } {
  const { providerOptions, providerMetadata = providerOptions } = part.object;
  if (part.type !== "image_url") return metadataOf(providerMetadata);
  const imageDetail = part.at("image_url").at("detail").optionalText;
  return imageDetail === undefined ? {} : metadataOf({ openai: { imageDetail } });
}

/** The output of a tool: `content` for the model, `value` for a provider that ran the tool itself. */
export interface Output {
  readonly content: Content;
  readonly value: JsonValue;
  readonly isError: boolean;
}

export function outputOf({ value = null }: Pick<Field, "value">, isError: boolean): Output {
  const content = isError && typeof value !== "string" ? JSON.stringify({ error: value }) : textOf(value);
  return { content, value, isError };
}

/** The default text is the one of the AI SDK. */
export function denied(reason: Field): Output {
  return outputOf({ value: reason.optionalText ?? "Tool call execution denied." }, true);
}

/** The output of a `tool-result`. Before version 5 of the AI SDK it is a bare result. */
export function readOutput(part: Field): Output {
  const output = part.at("output");
  if (!output.given) return outputOf(part.at("result"), part.at("isError").value === true);
  const value = output.at("value");
  if (output.type === "execution-denied") return denied(output.at("reason"));
  if (output.type === "content") return { ...outputOf(value, false), content: readContent(value) };
  return outputOf(value, output.type.startsWith("error"));
}
