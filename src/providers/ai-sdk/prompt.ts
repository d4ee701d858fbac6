import type { Message } from "../../thread/message.ts";
import { type OptionNames, refuseUnknownOptions } from "../../thread/option-names.ts";
import { canReadRun, isProviderRun } from "../../thread/provider-executor.ts";
import { type CacheOption, EPHEMERAL, marksOf } from "../cache.ts";
import { ProviderError, unknownProvider } from "../error.ts";
import type { MetadataOwner } from "../metadata.ts";
import { type Piece, partsOf, piecesOf } from "../parts.ts";
import { runs } from "../runs.ts";
import { readablePieces } from "../thinking.ts";
import { assistantPart, filePart, textPart, toolResult } from "./parts.ts";
import type { AISDKAssistantPart, AISDKFile, AISDKMessage, AISDKProviderOptions, AISDKText } from "./types.ts";

const NAMES: OptionNames<AISDKOptions> = { provider: true, cache: true, stored: true };

export interface AISDKOptions {
  /**
   * Leaves out content that this provider cannot read: thinking that it did not sign, and calls that another provider ran.
   * OpenAI's Chat API ("openai-chat") can hold neither. Not every provider package does this. Default: everything is kept.
   */
  readonly provider?: MetadataOwner | "openai-chat" | undefined;
  /** Whether OpenAI stores its items (`store`), so that reasoning with only an id is sent as a reference. Default true, as in its package. */
  readonly stored?: boolean | undefined;
  /** Adds cache breakpoints for Anthropic. Other providers ignore them. Default none. */
  readonly cache?: CacheOption | undefined;
}

/**
 * A LanguageModelV4Prompt for `doGenerate` and `doStream` of any AI SDK model. Calls and text keep their order, the results
 * of one step are one message, and metadata becomes providerOptions. The prompt shares no data with the messages.
 *
 * @example
 * const prompt = toAISDKPrompt([{ role: "user", content: "Hi" }]);
 * console.log(prompt); // [ { role: 'user', content: [ { type: 'text', text: 'Hi' } ] } ]
 */
export function toAISDKPrompt(messages: readonly Message[], options: AISDKOptions = {}): AISDKMessage[] {
  refuseUnknownOptions("toAISDKPrompt", options, NAMES);
  if (options.provider !== undefined && !PROVIDERS.includes(options.provider)) {
    throw unknownProvider(PROVIDERS, options.provider);
  }
  checkMessages(messages);
  const indexed = messages.map((message, index) => ({ message, index }));
  const groups = runs(indexed, (a, b) => a.message.role === "tool" && b.message.role === "tool");
  const made = groups.map((group) => ({
    from: group[0]?.index ?? 0, // a run has a first item
    prompt: group.map(({ message }) => messageOf(message, options)).reduce(joined),
  }));
  if (options.cache !== undefined) addMarks(made, options.cache);
  return made.map(({ prompt }) => prompt);
}

const PROVIDERS: readonly NonNullable<AISDKOptions["provider"]>[] = ["anthropic", "google", "openai", "openai-chat"];

const ROLES: readonly unknown[] = ["system", "user", "assistant", "tool"];

/** Messages of other formats have the same roles; their content and calls are not ours. */
function checkMessages(messages: readonly Message[]): void {
  if (!Array.isArray(messages)) throw invalidMessages("messages must be a list, such as the messages of a projection.");
  for (const [index, message] of messages.entries()) {
    const { role, content } = Object(message);
    if (ROLES.includes(role) && (typeof content === "string" || Array.isArray(content))) continue;
    throw invalidMessages(
      `messages[${index}] is not a message of a projection. Take other formats in with Thread.fromMessages.`,
    );
  }
}

function invalidMessages(message: string): ProviderError {
  return new ProviderError({ code: "invalid_message", message });
}

function messageOf(message: Message, { provider, stored }: AISDKOptions): AISDKMessage {
  switch (message.role) {
    case "system":
      return { role: "system", content: message.content };
    case "user":
      return {
        role: "user",
        content: partsOf(message.content).flatMap((part): readonly (AISDKText | AISDKFile)[] => {
          if (part.type === "text") return [textPart(part)];
          return part.type === "file" ? [filePart(part)] : [];
        }),
      };
    case "assistant": {
      const pieces = piecesOf(message);
      const kept = provider === undefined ? pieces : readableFor(pieces, provider, stored);
      return { role: "assistant", content: kept.flatMap(assistantPart) };
    }
    case "tool":
      return { role: "tool", content: [toolResult(message)] };
    default:
      return message satisfies never;
  }
}

function readableFor(
  pieces: readonly Piece[],
  provider: NonNullable<AISDKOptions["provider"]>,
  stored = true,
): readonly Piece[] {
  const isChat = provider === "openai-chat";
  const runs = pieces.filter(
    (piece) => piece.type === "call" || !isProviderRun(piece) || (!isChat && canReadRun(piece, provider)),
  );
  return isChat ? runs.filter(({ type }) => type !== "thinking") : readablePieces(runs, provider, stored);
}

function joined(a: AISDKMessage, b: AISDKMessage): AISDKMessage {
  return a.role === "tool" && b.role === "tool" ? { ...a, content: [...a.content, ...b.content] } : b;
}

/** A message and the index of the first neutral message it was made of. */
interface Made {
  readonly from: number;
  readonly prompt: AISDKMessage;
}

/** Writes into a new prompt that is not shared yet. */
function addMarks(made: readonly Made[], cache: CacheOption): void {
  const system = made.findLast(({ prompt }) => prompt.role === "system")?.prompt;
  if (system !== undefined) mark(system);
  const parts = made.flatMap(({ from, prompt }) =>
    prompt.role === "system"
      ? []
      : // Only results are joined into one message. Each result is one neutral message.
        prompt.content.map((part: AISDKAssistantPart, at) => ({
          part,
          message: prompt.role === "tool" ? from + at : from,
        })),
  );
  const blocks = parts.map(({ part, message }) => ({ message, markable: part.type !== "reasoning" }));
  for (const index of marksOf(blocks, cache)) {
    const part = parts[index]?.part;
    if (part !== undefined) mark(part);
  }
}

function mark(target: { providerOptions?: AISDKProviderOptions }): void {
  const { anthropic, ...others } = target.providerOptions ?? {};
  target.providerOptions = { ...others, anthropic: { ...anthropic, cacheControl: { ...EPHEMERAL } } };
}
