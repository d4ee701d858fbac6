import type { JsonObject } from "heddle";
import { type Block, contentOf, fragments, type Said, type Usage } from "../answer.ts";
import { type Asked, CREATED, paddedId } from "../api.ts";
import { type Frame, namedFrame } from "../sse.ts";
import { includes } from "./check.ts";
import { summaryOf } from "./reasoning.ts";
import { keep } from "./stored.ts";

/** A piece of an answer and the item it becomes. */
interface Spoken {
  readonly block: Block;
  readonly item: JsonObject & { readonly id: string };
}

export function wholeResponses(said: Said, asked: Asked): JsonObject {
  return responseOf(said, asked, spokenOf(said, asked));
}

export function streamResponses(said: Said, asked: Asked): readonly Frame[] {
  const spoken = spokenOf(said, asked);
  const whole = responseOf(said, asked, spoken);
  const begun = { ...whole, status: "in_progress", output: [], usage: null, incomplete_details: null };
  let sequence_number = 0;
  const frame = (type: string, data: JsonObject, place: Frame["place"] = "rest"): Frame =>
    namedFrame({ type, sequence_number: sequence_number++, ...data }, place);
  const end = whole["status"] === "incomplete" ? "response.incomplete" : "response.completed";
  return [
    frame("response.created", { response: begun }, "head"),
    frame("response.in_progress", { response: begun }, "head"),
    ...spoken.flatMap((one, output_index) => framesOf(one, output_index, said.finish === "refusal", frame)),
    frame(end, { response: whole }),
  ];
}

type MakeFrame = (type: string, data: JsonObject, place?: Frame["place"]) => Frame;

function framesOf({ block, item }: Spoken, output_index: number, refused: boolean, frame: MakeFrame): readonly Frame[] {
  const at = { item_id: item.id, output_index };
  const added = (empty: JsonObject): Frame =>
    frame("response.output_item.added", { output_index, item: { ...item, status: "in_progress", ...empty } });
  const done = (): Frame => frame("response.output_item.done", { output_index, item });
  switch (block.type) {
    case "text": {
      const [kind, field] = refused ? ["refusal", "refusal"] : ["output_text", "text"];
      const part = (text: string): JsonObject => ({
        type: kind,
        [field]: text,
        ...(refused ? {} : { annotations: [] }),
      });
      const place = { ...at, content_index: 0 };
      return [
        added({ content: [] }),
        frame("response.content_part.added", { ...place, part: part("") }),
        ...block.deltas.map((delta) => frame(`response.${kind}.delta`, { ...place, delta }, "delta")),
        frame(`response.${kind}.done`, { ...place, [field]: contentOf(block) }),
        frame("response.content_part.done", { ...place, part: part(contentOf(block)) }),
        done(),
      ];
    }
    case "thinking": {
      const place = { ...at, summary_index: 0 };
      const part = (text: string): JsonObject => ({ type: "summary_text", text });
      const text = contentOf(block);
      const shown = [
        () => frame("response.reasoning_summary_part.added", { ...place, part: part("") }),
        ...block.deltas.map(
          (delta) => () => frame("response.reasoning_summary_text.delta", { ...place, delta }, "delta"),
        ),
        () => frame("response.reasoning_summary_text.done", { ...place, text }),
        () => frame("response.reasoning_summary_part.done", { ...place, part: part(text) }),
      ];
      return [added({ summary: [] }), ...(text === "" ? [] : shown.map((make) => make())), done()];
    }
    case "call":
      return [
        added({ arguments: "" }),
        ...fragments(block.json).map((delta) =>
          frame("response.function_call_arguments.delta", { ...at, delta }, "delta"),
        ),
        frame("response.function_call_arguments.done", { ...at, arguments: block.json }),
        done(),
      ];
    case "search":
      return [added({}), done()];
    case "redacted":
      return [];
    default:
      return block satisfies never;
  }
}

function spokenOf({ blocks, finish }: Said, asked: Asked): readonly Spoken[] {
  const spoken = blocks.flatMap((block): readonly Spoken[] => {
    const item = itemOf(block, finish === "refusal", asked);
    return item === undefined ? [] : [{ block, item }];
  });
  keep(
    spoken.map(({ item }) => item),
    asked,
  );
  return spoken;
}

function itemOf(block: Block, refused: boolean, asked: Asked): Spoken["item"] | undefined {
  switch (block.type) {
    case "text": {
      const text = contentOf(block);
      const content = refused ? { type: "refusal", refusal: text } : { type: "output_text", text, annotations: [] };
      return {
        id: paddedId("msg_", block.id),
        type: "message",
        role: "assistant",
        status: "completed",
        content: [content],
      };
    }
    case "thinking": {
      const content = contentOf(block);
      const encrypted = includes(asked.body, "reasoning.encrypted_content")
        ? { encrypted_content: asked.world.seal("openai-responses", block.id, { content }) }
        : {};
      return {
        id: paddedId("rs_", block.id),
        type: "reasoning",
        summary: summaryOf(content === "" ? [] : [content]),
        ...encrypted,
      };
    }
    case "call": {
      const { callId: call_id, name, json } = block;
      return {
        id: paddedId("fc_", block.id),
        type: "function_call",
        status: "completed",
        call_id,
        name,
        arguments: json,
      };
    }
    case "search": {
      if (block.part === "result") return undefined;
      const { query, url } = block.search;
      const action = { type: "search", query, sources: [{ type: "url", url }] };
      return { id: paddedId("ws_", block.id), type: "web_search_call", status: "completed", action };
    }
    case "redacted":
      return undefined;
    default:
      return block satisfies never;
  }
}

function responseOf({ id, finish, usage }: Said, { model }: Asked, spoken: readonly Spoken[]): JsonObject {
  const reason = {
    length: "max_output_tokens",
    content_filter: "content_filter",
    stop: null,
    pause: null,
    tool_calls: null,
    refusal: null,
  }[finish];
  return {
    id: paddedId("resp_", id),
    object: "response",
    created_at: CREATED,
    status: reason === null ? "completed" : "incomplete",
    error: null,
    incomplete_details: reason === null ? null : { reason },
    model,
    output: spoken.map(({ item }) => item),
    usage: usageOf(usage),
  };
}

function usageOf({ input, output, reasoning, cacheRead, cacheWrite }: Usage): JsonObject {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cacheRead, ...(cacheWrite > 0 ? { cache_write_tokens: cacheWrite } : {}) },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}
