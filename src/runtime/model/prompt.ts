import { metadataKey, type ProviderModel, qualifiedModelName } from "../../agent/definition/language-model.ts";
import { type AISDKOptions, toAISDKPrompt } from "../../providers/ai-sdk/prompt.ts";
import type { AISDKAssistantPart, AISDKProviderOptions } from "../../providers/ai-sdk/types.ts";
import type { MetadataOwner } from "../../providers/metadata.ts";
import type { Message } from "../../thread/message.ts";
import { canReadProviderCall, isProviderExecuted } from "../../thread/provider-executed.ts";
import { OURS } from "./answer/metadata.ts";
import { isChat, withChatResults } from "./chat-results.ts";
import type { ModelSpec, PromptMessage } from "./spec/spec.ts";

/** The messages as this model takes them; nothing in them is shared with what was passed in. */
export function promptFor(
  model: ProviderModel,
  spec: ModelSpec,
  messages: readonly Message[],
  { cache, stored = false }: Pick<AISDKOptions, "cache" | "stored"> = {},
): object[] {
  const owner = metadataKey(model);
  const options = {
    stored,
    ...(isKnown(owner) && { provider: owner }),
    ...(cache !== undefined && readsMarks(model) && { cache }),
  };
  const name = qualifiedModelName(model);
  const readable = messages.map((message) => withReadableRuns(model, message));
  const prompt = toAISDKPrompt(withChatResults(model, readable), options).flatMap(
    (message): readonly PromptMessage[] => {
      if (message.role !== "assistant") return [message];
      const content = message.content.flatMap((part) => ownPart(part, name));
      return content.length === 0 ? [] : [{ ...message, content }]; // no provider takes a message without content
    },
  );
  return spec.prompt(prompt);
}

function isKnown(owner: string): owner is MetadataOwner {
  return owner === "anthropic" || owner === "openai" || owner === "google";
}

/** A call that another provider ran would become one without a result; chat APIs have no place for any. */
function withReadableRuns(model: ProviderModel, message: Message): Message {
  const { role, content } = message;
  if (role !== "assistant" || typeof content === "string" || !content.some(isProviderExecuted)) return message;
  const owner = isChat(model) ? undefined : metadataKey(model);
  const kept = content.filter(
    (part) => !isProviderExecuted(part) || (owner !== undefined && canReadProviderCall(part, owner)),
  );
  return { ...message, content: kept };
}

/** Claude is also behind gateways, which hand the marks on; its name gives it away. */
function readsMarks(model: ProviderModel): boolean {
  return metadataKey(model) === "anthropic" || /claude/i.test(model.modelId);
}

/** What the log knows of a part and the formatter does not: it stands under our own name, which no provider is to see. */
function ownPart(part: AISDKAssistantPart, model: string): readonly object[] {
  if (part.type === "custom" && part.kind.startsWith(`${OURS}.`)) return [];
  if (part.providerOptions?.[OURS] === undefined) return [part];
  const { providerOptions, ...bare } = part;
  const { [OURS]: ours, ...others }: AISDKProviderOptions = providerOptions;
  const kept = Object.keys(others).length === 0 ? bare : { ...bare, providerOptions: others };
  if (ours?.["reasoningOf"] === undefined) return [kept];
  // An image drawn while thinking is thinking: only the model that made it can read it.
  return ours["reasoningOf"] === model ? [{ ...kept, type: "reasoning-file" }] : [];
}
