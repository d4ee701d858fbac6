import type { Api } from "../api.ts";
import { CREATED, paddedId } from "../api.ts";
import { listOf, textOf } from "../json.ts";
import { openaiErrorBody, openaiProblem } from "../openai-errors.ts";
import { namedFrame } from "../sse.ts";
import { checkResponses } from "./check.ts";
import { streamResponses, wholeResponses } from "./say.ts";

/** An error takes the place of the events that would have come; its number is above any of theirs. */
const AFTER_ALL = 1_000_000;

export const openaiResponses: Api = {
  name: "openai-responses",
  route: (path, body) =>
    path === "/v1/responses" ? { model: textOf(body["model"]) ?? "", streaming: body["stream"] === true } : undefined,
  check: checkResponses,
  prompt: ({ body: { input, instructions, tools } }) =>
    [...listOf(tools), instructions ?? "", ...(typeof input === "string" ? [input] : listOf(input))].map((piece) => ({
      text: JSON.stringify(piece),
    })),
  cacheRules: () => ({ kind: "prefix", minTokens: 1024, step: 128 }),
  callId: (n) => paddedId("call_", n),
  whole: wholeResponses,
  stream: streamResponses,
  problem(error) {
    if (error !== "context_too_long") return openaiProblem(error);
    const message = "Your input exceeds the context window of this model. Please adjust your input and try again.";
    const code = "context_length_exceeded";
    return { rule: error, status: 400, type: "invalid_request_error", param: "input", code, message };
  },
  errorBody: openaiErrorBody,
  broken({ code = "server_error", message }) {
    const response = {
      id: paddedId("resp_", 0),
      object: "response",
      created_at: CREATED,
      status: "failed",
      output: [],
    };
    const failed = { ...response, error: { code, message }, incomplete_details: null, usage: null };
    return [namedFrame({ type: "response.failed", sequence_number: AFTER_ALL, response: failed })];
  },
};
