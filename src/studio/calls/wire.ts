import { toAISDKPrompt } from "../../providers/ai-sdk/prompt.ts";
import { toAnthropic } from "../../providers/wire/anthropic.ts";
import { toGemini } from "../../providers/wire/gemini.ts";
import { toOpenAIChat } from "../../providers/wire/openai-chat.ts";
import { toOpenAIResponses } from "../../providers/wire/openai-responses.ts";
import type { Message, ToolSpec } from "../../thread/message.ts";
import type { CallWire } from "../contract/call.ts";
import { StudioError } from "../http/error.ts";
import { oneOf } from "../http/fields.ts";
import { type Answer, json } from "../http/reply.ts";
import type { Call } from "../http/router.ts";
import { shownCall } from "./shown-call.ts";

export const WIRES = ["openai-chat", "openai-responses", "anthropic", "gemini", "ai-sdk"] as const;

/** GET /api/threads/{id}/calls/{callId}/wire: the messages in the format of a provider. */
export async function wireOfCall({ studio, query, param }: Call): Promise<Answer<CallWire>> {
  const provider = oneOf(WIRES, query.get("provider") ?? "", "provider");
  const id = param("id");
  const shown = await shownCall(studio, id, await studio.callSeqs.find(id, param("callId")));
  if (shown.problem !== undefined && shown.messages.length === 0) {
    throw new StudioError({ ...shown.problem, status: 422 });
  }
  return json<CallWire>({ provider, proven: shown.proven, body: bodyFor(provider, shown.messages, shown.toolSpec) });
}

/** The request body for a provider. */
export function bodyFor(
  provider: (typeof WIRES)[number],
  messages: readonly Message[],
  tools: readonly ToolSpec[],
): unknown {
  switch (provider) {
    case "openai-chat":
      return toOpenAIChat(messages, tools);
    case "openai-responses":
      return toOpenAIResponses(messages, tools);
    case "anthropic":
      return toAnthropic(messages, tools, { cache: true }); // as agents send it
    case "gemini":
      return toGemini(messages, tools);
    case "ai-sdk":
      return { prompt: toAISDKPrompt(messages), tools };
    default:
      return provider satisfies never;
  }
}
