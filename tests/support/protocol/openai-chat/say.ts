import type { JsonObject } from "heddle";
import { type Block, contentOf, fragments, type Said, type Usage } from "../answer.ts";
import { type Asked, CREATED, paddedId } from "../api.ts";
import { objectOf } from "../json.ts";
import { dataFrame, type Frame } from "../sse.ts";

/** Only compatible servers show what the model thinks; OpenAI counts it and keeps it. */
export interface Dialect {
  readonly showsThinking: boolean;
}

export function wholeChat(
  { id, blocks, finish, usage }: Said,
  { model }: Asked,
  { showsThinking }: Dialect,
): JsonObject {
  const text = joined(blocks, "text");
  const thinking = joined(blocks, "thinking");
  const calls = blocks.flatMap((block) => (block.type === "call" ? [callOf(block)] : []));
  const refused = finish === "refusal";
  const message = {
    role: "assistant",
    content: refused || text === "" ? null : text,
    refusal: refused ? text : null,
    ...(showsThinking && thinking !== "" ? { reasoning_content: thinking } : {}),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  return {
    ...headOf(id, model, "chat.completion"),
    choices: [{ index: 0, message, logprobs: null, finish_reason: reasonOf(finish) }],
    usage: usageOf(usage),
  };
}

export function streamChat(
  { id, blocks, finish, usage }: Said,
  { model, body }: Asked,
  { showsThinking }: Dialect,
): readonly Frame[] {
  const head = headOf(id, model, "chat.completion.chunk");
  const chunk = (delta: JsonObject, place: Frame["place"] = "delta", reason: string | null = null): Frame =>
    dataFrame({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }] }, place);
  const textField = finish === "refusal" ? "refusal" : "content";
  let calls = 0;
  const said = blocks.flatMap((block): readonly Frame[] => {
    switch (block.type) {
      case "text":
        return block.deltas.map((delta) => chunk({ [textField]: delta }));
      case "thinking":
        return showsThinking ? block.deltas.map((delta) => chunk({ reasoning_content: delta })) : [];
      case "redacted":
      case "search":
        return [];
      case "call":
        return callChunks(block, calls++).map((call) => chunk({ tool_calls: [call] }));
      default:
        return block satisfies never;
    }
  });
  const wantsUsage = objectOf(body["stream_options"])["include_usage"] === true;
  return [
    chunk({ role: "assistant", content: "", refusal: null }, "head"),
    ...said,
    chunk({}, "rest", reasonOf(finish)),
    ...(wantsUsage ? [dataFrame({ ...head, choices: [], usage: usageOf(usage) })] : []),
    { text: "data: [DONE]\n\n", place: "rest" },
  ];
}

/** The first chunk names the call, the others bring its arguments bit by bit. */
function callChunks({ callId, name, json }: Block & { type: "call" }, index: number): readonly JsonObject[] {
  const first = { index, id: callId, type: "function", function: { name, arguments: "" } };
  return [first, ...fragments(json).map((piece) => ({ index, function: { arguments: piece } }))];
}

function callOf({ callId, name, json }: Block & { type: "call" }): JsonObject {
  return { id: callId, type: "function", function: { name, arguments: json } };
}

function headOf(id: number, model: string, object: string): JsonObject {
  return {
    id: paddedId("chatcmpl-", id),
    object,
    created: CREATED,
    model,
    service_tier: "default",
    system_fingerprint: "fp_0",
  };
}

function joined(blocks: readonly Block[], type: "text" | "thinking"): string {
  return blocks.map((block) => (block.type === type ? contentOf(block) : "")).join("");
}

function reasonOf(finish: Said["finish"]): string {
  return finish === "refusal" ? "stop" : finish;
}

function usageOf({ input, output, reasoning, cacheRead, cacheWrite }: Usage): JsonObject {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: {
      cached_tokens: cacheRead,
      ...(cacheWrite > 0 ? { cache_write_tokens: cacheWrite } : {}),
      audio_tokens: 0,
    },
    completion_tokens_details: { reasoning_tokens: reasoning, audio_tokens: 0 },
  };
}
