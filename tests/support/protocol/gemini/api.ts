import type { Api } from "../api.ts";
import { listOf } from "../json.ts";
import { dataFrame } from "../sse.ts";
import { checkGemini } from "./check.ts";
import { geminiErrorBody, geminiProblem } from "./errors.ts";
import { streamGemini, wholeGemini } from "./say.ts";

const PATH = /^\/v1beta\/models\/([^:]+):(generateContent|streamGenerateContent\?alt=sse)$/;

export const gemini: Api = {
  name: "gemini",
  route(path) {
    const [, model = "", method] = PATH.exec(path) ?? [];
    return method === undefined ? undefined : { model, streaming: method !== "generateContent" };
  },
  check: checkGemini,
  prompt: ({ body: { tools, systemInstruction, contents } }) =>
    [...listOf(tools), systemInstruction ?? "", ...listOf(contents)].map((piece) => ({ text: JSON.stringify(piece) })),
  cacheRules: (model) => ({ kind: "prefix", minTokens: /gemini-2/.test(model) ? 2048 : 4096, step: 32 }),
  callId: (n) => `call${n}`,
  whole: wholeGemini,
  stream: streamGemini,
  problem: geminiProblem,
  errorBody: geminiErrorBody,
  broken: (problem) => [dataFrame(geminiErrorBody(problem))],
};
