import type { JsonObject } from "heddle";
import { type Api, paddedId } from "../api.ts";
import type { PromptPiece } from "../cache.ts";
import { countOf, objectsOf, textOf, without } from "../json.ts";
import { namedFrame } from "../sse.ts";
import { checkAnthropic } from "./check.ts";
import { anthropicErrorBody, anthropicProblem } from "./errors.ts";
import { minCachedTokens } from "./models.ts";
import { streamAnthropic, wholeAnthropic } from "./say.ts";
import { blocksOf } from "./turns.ts";

export const anthropic: Api = {
  name: "anthropic",
  route: (path, body) =>
    path === "/v1/messages" ? { model: textOf(body["model"]) ?? "", streaming: body["stream"] === true } : undefined,
  check: checkAnthropic,
  prompt({ body }) {
    const messages = objectsOf(body["messages"]).flatMap(({ role, content }) =>
      blocksOf(content).map((block) => piece(`${textOf(role)} `, block)),
    );
    const pieces = [...objectsOf(body["tools"]), ...blocksOf(body["system"])]
      .map((block) => piece("", block))
      .concat(messages);
    // A mark on the request itself moves along with its last block.
    const automatic = body["cache_control"] !== undefined;
    return pieces.map((one, index) => (automatic && index === pieces.length - 1 ? { ...one, mark: true } : one));
  },
  cacheRules: (model) => ({ kind: "marks", minTokens: minCachedTokens(model), step: 1 }),
  callId: (n) => paddedId("toolu_01", n, 22),
  whole: wholeAnthropic,
  stream: streamAnthropic,
  problem: anthropicProblem,
  errorBody: anthropicErrorBody,
  broken: ({ type, message }) => [namedFrame({ type: "error", error: { type, message } })],
};

function piece(prefix: string, block: JsonObject): PromptPiece {
  return { text: prefix + JSON.stringify(without("cache_control", block)), mark: countOf("cache_control", block) > 0 };
}
