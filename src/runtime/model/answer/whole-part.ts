import type { JsonObject } from "../../../thread/json.ts";
import type { Part } from "../../../thread/message.ts";
import { plainJson, plainObject, plainText } from "../plain-json.ts";
import type { RawPart } from "../raw-part.ts";
import type { ModelSpec } from "../spec/spec.ts";
import { mergedMetadata, metadataIn, OURS, withMetadata } from "./metadata.ts";
import { argumentsIn } from "./tool-calls.ts";

/** The parts that come as a whole, but for calls that are ours to run. Undefined for anything else. */
export function wholePart(part: RawPart, { fileData }: Pick<ModelSpec, "fileData">, maker: string): Part | undefined {
  const extra = withMetadata(metadataIn(part));
  switch (part.type) {
    case "file":
    case "reasoning-file": {
      const data = fileData(part);
      if (data === undefined) return undefined;
      const filename = plainText(part["filename"]);
      const name = filename === "" ? {} : { filename };
      const file = { type: "file", mediaType: plainText(part["mediaType"]), ...name, data } as const;
      if (part.type === "file") return { ...file, ...extra };
      return { ...file, ...withMetadata(mergedMetadata(extra.metadata, { [OURS]: { reasoningOf: maker } })) };
    }
    case "source":
      return { ...restOf(part), type: "source", ...extra };
    case "custom":
      if (part["kind"] === "anthropic.message_start") return undefined; // tells of the stream, and never goes back
      return { ...restOf(part), type: "custom", ...extra };
    case "tool-approval-request": {
      const { approvalId, toolCallId } = restOf(part);
      return { type: "custom", kind: `${OURS}.approval_request`, approvalId, toolCallId, ...extra };
    }
    case "tool-call":
      return {
        type: "provider_call",
        id: plainText(part["toolCallId"]),
        name: plainText(part["toolName"]),
        arguments: argumentsIn(part["input"]),
        ...extra,
      };
    case "tool-result":
      return {
        type: "provider_result",
        id: plainText(part["toolCallId"]),
        name: plainText(part["toolName"]),
        result: plainJson(part["result"]) ?? null,
        ...(part["isError"] === true && { isError: true }),
        ...extra,
      };
    default:
      return undefined;
  }
}

/** What the part says besides its type and what goes back to the provider. */
function restOf({ type: _type, providerMetadata: _metadata, metadata: _other, ...rest }: RawPart): JsonObject {
  return plainObject(rest) ?? {};
}
