import type { JsonObject } from "heddle";
import { type Block, contentOf, fragments, type Said, type Usage } from "../answer.ts";
import { type Asked, paddedId } from "../api.ts";
import { objectOf } from "../json.ts";
import { type Frame, namedFrame } from "../sse.ts";
import { prefixHash } from "./thinking.ts";

export function wholeAnthropic(said: Said, asked: Asked): JsonObject {
  const { finish, usage } = said;
  return {
    ...headOf(said, asked),
    content: sealedBlocks(said, asked),
    stop_reason: reasonOf(finish),
    usage: { ...inputOf(usage), ...outputOf(usage) },
  };
}

export function streamAnthropic(said: Said, asked: Asked): readonly Frame[] {
  const { blocks, finish, usage } = said;
  const sealed = sealedBlocks(said, asked);
  const message = {
    ...headOf(said, asked),
    content: [],
    stop_reason: null,
    usage: { ...inputOf(usage), output_tokens: 1 },
  };
  const stop_reason = reasonOf(finish);
  return [
    namedFrame({ type: "message_start", message }, "head"),
    namedFrame({ type: "ping" }, "head"),
    ...blocks.flatMap((block, index) => framesOf(block, objectOf(sealed[index]), index)),
    namedFrame({ type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: outputOf(usage) }),
    namedFrame({ type: "message_stop" }),
  ];
}

function framesOf(block: Block, sealed: JsonObject, index: number): readonly Frame[] {
  const start = (content_block: JsonObject): Frame => namedFrame({ type: "content_block_start", index, content_block });
  const delta = (piece: JsonObject, place: Frame["place"] = "delta"): Frame =>
    namedFrame({ type: "content_block_delta", index, delta: piece }, place);
  const stop = namedFrame({ type: "content_block_stop", index });
  switch (block.type) {
    case "text":
      return [
        start({ type: "text", text: "" }),
        ...block.deltas.map((text) => delta({ type: "text_delta", text })),
        stop,
      ];
    case "thinking":
      return [
        start({ type: "thinking", thinking: "", signature: "" }),
        ...block.deltas.map((thinking) => delta({ type: "thinking_delta", thinking })),
        delta({ type: "signature_delta", signature: sealed["signature"] ?? "" }, "rest"),
        stop,
      ];
    case "redacted":
      return [start(sealed), stop];
    case "search":
      if (block.part === "result") return [start(sealed), stop];
      return [
        start({ ...sealed, input: {} }),
        ...fragments(JSON.stringify(sealed["input"])).map((partial_json) =>
          delta({ type: "input_json_delta", partial_json }),
        ),
        stop,
      ];
    case "call":
      return [
        start({ ...sealed, input: {} }),
        ...["", ...fragments(block.json)].map((partial_json) => delta({ type: "input_json_delta", partial_json })),
        stop,
      ];
    default:
      return block satisfies never;
  }
}

/** The blocks as they will have to come back. */
function sealedBlocks({ blocks }: Said, { body, world }: Asked): readonly JsonObject[] {
  const sealed: JsonObject[] = [];
  for (const block of blocks) {
    const seal = (): string => {
      const before = { content: contentOf(block), prefix: prefixHash(body, sealed) };
      return world.seal("anthropic", block.id, before);
    };
    sealed.push(sealedBlock(block, seal));
  }
  return sealed;
}

function sealedBlock(block: Block, seal: () => string): JsonObject {
  switch (block.type) {
    case "text":
      return { type: "text", text: contentOf(block) };
    case "thinking":
      return { type: "thinking", thinking: contentOf(block), signature: seal() };
    case "redacted":
      return { type: "redacted_thinking", data: seal() };
    case "call":
      return { type: "tool_use", id: block.callId, name: block.name, input: inputObject(block.json) };
    case "search": {
      const { query, url, error } = block.search;
      const id = paddedId("srvtoolu_01", block.id, 22);
      if (block.part === "call") return { type: "server_tool_use", id, name: "web_search", input: { query } };
      const found = { type: "web_search_result", url, title: "Found", encrypted_content: "EpQ=", page_age: null };
      const content = error === undefined ? [found] : { type: "web_search_tool_result_error", error_code: error };
      return { type: "web_search_tool_result", tool_use_id: id, content };
    }
    default:
      return block satisfies never;
  }
}

/** Arguments that are no JSON are seen only in a stream: here there is no way to say them. */
function inputObject(json: string): JsonObject {
  try {
    return objectOf(JSON.parse(json));
  } catch {
    return {};
  }
}

function headOf({ id }: Said, { model, transformations }: Asked): JsonObject {
  const dropped = transformations.length === 0 ? {} : { input_transformations: [...transformations] };
  return { id: paddedId("msg_01", id, 22), type: "message", role: "assistant", model, stop_sequence: null, ...dropped };
}

function reasonOf(finish: Said["finish"]): string {
  switch (finish) {
    case "stop":
      return "end_turn";
    case "pause":
      return "pause_turn";
    case "length":
      return "max_tokens";
    case "tool_calls":
      return "tool_use";
    case "refusal":
    case "content_filter":
      return "refusal";
    default:
      return finish satisfies never;
  }
}

function inputOf({ input, cacheRead, cacheWrite }: Usage): JsonObject {
  return {
    input_tokens: input - cacheRead - cacheWrite,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cacheRead,
  };
}

function outputOf({ output, reasoning }: Usage): JsonObject {
  return { output_tokens: output, ...(reasoning > 0 ? { output_tokens_details: { thinking_tokens: reasoning } } : {}) };
}
