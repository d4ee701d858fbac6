import { isPlainObject } from "../../thread/json.ts";
import { type FileContentPart, fileNote, type Part, type PartMetadata } from "../../thread/message.ts";
import { base64Of } from "../model/spec.ts";
import { jsonOf } from "./json-result.ts";

type Fields = { readonly [field: string]: unknown };

/** Parts of kinds that only a provider knows have no place in a result, and are left out. */
export function partOf(value: unknown): readonly Part[] {
  if (!isPlainObject(value)) return [];
  const { type } = value;
  const image = typeof type === "string" && type.startsWith("image");
  switch (type) {
    case "text":
      return [{ type: "text", text: textIn(value["text"]), ...metadataIn(value) }];
    case "file":
      return filePart(value, value["data"], "application/octet-stream");
    case "media":
    case "file-data":
    case "image-data":
      return filePart(value, { type: "data", data: value["data"] }, image ? "image/*" : "application/octet-stream");
    case "file-url":
    case "image-url":
      return filePart(value, { type: "url", url: value["url"] }, image ? "image/*" : "application/octet-stream");
    case "file-id":
    case "image-file-id":
    case "file-reference":
    case "image-file-reference":
      return filePart(value, undefined, image ? "image/*" : "application/octet-stream");
    default:
      return [];
  }
}

/** A file at the provider's own place cannot be told to another: the model reads that it was there. */
function filePart(fields: Fields, given: unknown, usual: string): readonly Part[] {
  const mediaType = typeof fields["mediaType"] === "string" ? fields["mediaType"] : usual;
  const name = typeof fields["filename"] === "string" ? { filename: fields["filename"].toWellFormed() } : {};
  const inline = isPlainObject(given) && given["type"] === "text" ? given["text"] : undefined;
  if (typeof inline === "string") return [{ type: "text", text: inline.toWellFormed(), ...metadataIn(fields) }];
  const file = { type: "file", mediaType, ...name } as const;
  const data = dataOf(given);
  if (data === undefined) return [{ type: "text", text: fileNote({ ...file, data: { url: "" } }) }];
  return [{ ...file, data, ...metadataIn(fields) }];
}

/** Tagged as in the AI SDK 7, our own `{ url }` and `{ base64 }`, or bare as before. */
function dataOf(given: unknown): FileContentPart["data"] | undefined {
  if (given instanceof URL) return { url: given.href };
  if (given instanceof Uint8Array) return { base64: base64Of(given) };
  if (given instanceof ArrayBuffer) return { base64: base64Of(new Uint8Array(given)) };
  if (typeof given === "string") return /^(https?|data):/.test(given) ? { url: given } : { base64: given };
  if (!isPlainObject(given)) return undefined;
  const { type, data, url, base64, blob } = given;
  if (type === "data") return dataOf(data);
  if (url instanceof URL) return { url: url.href };
  if (typeof url === "string") return { url };
  if (typeof base64 === "string") return { base64 };
  return typeof blob === "string" ? { blob } : undefined;
}

function textIn(value: unknown): string {
  return typeof value === "string" ? value.toWellFormed() : "";
}

/** What a provider is to be told with the part: cache marks, for one. */
function metadataIn(fields: Fields): { readonly metadata?: PartMetadata } {
  const given = fields["metadata"] ?? fields["providerOptions"];
  if (!isPlainObject(given) || !Object.values(given).every(isPlainObject)) return {};
  return { metadata: jsonOf(given) as PartMetadata }; // objects by provider, and JSON by now
}
