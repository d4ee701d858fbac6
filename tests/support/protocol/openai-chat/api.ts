import type { Api } from "../api.ts";
import { paddedId } from "../api.ts";
import { listOf, textOf } from "../json.ts";
import { openaiErrorBody, openaiProblem } from "../openai-errors.ts";
import { dataFrame } from "../sse.ts";
import { checkChat } from "./check.ts";
import { type Dialect, streamChat, wholeChat } from "./say.ts";

/** Chat Completions, as OpenAI speaks it and as compatible servers do. */
function chat(name: "openai-chat" | "openai-compatible", path: string, dialect: Dialect): Api {
  return {
    name,
    route: (asked, body) =>
      asked === path ? { model: textOf(body["model"]) ?? "", streaming: body["stream"] === true } : undefined,
    check: checkChat,
    prompt: ({ body }) =>
      [...listOf(body["tools"]), ...listOf(body["messages"])].map((piece) => ({ text: JSON.stringify(piece) })),
    cacheRules: () => ({ kind: "prefix", minTokens: 1024, step: 128 }),
    callId: (n) => paddedId("call_", n),
    whole: (said, asked) => wholeChat(said, asked, dialect),
    stream: (said, asked) => streamChat(said, asked, dialect),
    problem(error, { tokens, max }) {
      if (error !== "context_too_long") return openaiProblem(error);
      const message =
        `This model's maximum context length is ${max} tokens. However, your messages resulted in ${tokens} tokens. ` +
        "Please reduce the length of the messages.";
      const code = "context_length_exceeded";
      return { rule: error, status: 400, type: "invalid_request_error", param: "messages", code, message };
    },
    errorBody: openaiErrorBody,
    broken: (problem) => [dataFrame(openaiErrorBody(problem))],
  };
}

export const openaiChat = chat("openai-chat", "/v1/chat/completions", { showsThinking: false });
export const openaiCompatible = chat("openai-compatible", "/compatible/v1/chat/completions", { showsThinking: true });
