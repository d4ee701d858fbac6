import {
  canReadProviderCall,
  type FileContentPart,
  groupAdjacent,
  isProviderExecuted,
  type Message,
  type PartMetadata,
  type TextContentPart,
  type ToolMessage,
} from "../../thread/message.ts";
import { type OptionNames, refuseUnknownOptions } from "../../thread/options.ts";
import { type CacheOption, EPHEMERAL, isSystemMarked, marksOf } from "../cache.ts";
import { fileUnsendable, unknownProvider } from "../error.ts";
import {
  type AssistantPart,
  argumentsObject,
  assistantParts,
  checkMessages,
  decodeText,
  type MetadataOwner,
  mediaTypeOf,
  messagesFor,
  partsOf,
  sourceOf,
  thaw,
  thawObject,
  toolOutputOf,
} from "../message-parts.ts";
import { readableParts } from "../thinking.ts";
import type {
  AISDKAssistantPart,
  AISDKFile,
  AISDKMessage,
  AISDKProviderOptions,
  AISDKText,
  AISDKToolResult,
} from "./types.ts";

const NAMES: OptionNames<AISDKOptions> = { provider: true, cache: true, stored: true };

/** Options of `toAISDKPrompt`, `toModelMessages` and `toModelPrompt`. */
export interface AISDKOptions {
  /**
   * Leaves out content that this provider cannot read: thinking that it did not sign, and calls that another provider ran.
   * OpenAI's Chat API ("openai-chat") can hold neither. Not every provider package does this. A file of a type that the
   * provider refuses becomes a text. Default: everything is kept.
   */
  readonly provider?: MetadataOwner | "openai-chat" | undefined;
  /**
   * Whether OpenAI stores the items of its answers (its option `store`). If so, reasoning with only an id is sent as a
   * reference. Default true, as in OpenAI's package.
   */
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
  checkPromptInput(messages, options);
  const { provider } = options;
  return promptOf(provider === undefined ? messages : messagesFor(provider, messages), options);
}

/** Like `toAISDKPrompt`, for input that has been checked. Keeps every file. */
export function promptOf(messages: readonly Message[], options: AISDKOptions): AISDKMessage[] {
  const indexed = messages.map((message, index) => ({ message, index }));
  const groups = groupAdjacent(indexed, (a, b) => a.message.role === "tool" && b.message.role === "tool");
  const made = groups.flatMap((group) => {
    const from = group[0]?.index ?? 0; // every group has at least one item
    return joinResults(group.map(({ message }) => messageOf(message, options))).map((prompt) => ({ from, prompt }));
  });
  if (options.cache !== undefined) addMarks(made, options.cache);
  return made.map(({ prompt }) => prompt);
}

/** Throws on unknown options, on an unknown provider, and on messages of another format. */
function checkPromptInput(messages: readonly Message[], options: AISDKOptions): void {
  refuseUnknownOptions("toAISDKPrompt", options, NAMES);
  if (options.provider !== undefined && !PROVIDERS.includes(options.provider)) {
    throw unknownProvider(PROVIDERS, options.provider);
  }
  checkMessages(messages);
}

const PROVIDERS: readonly NonNullable<AISDKOptions["provider"]>[] = ["anthropic", "google", "openai", "openai-chat"];

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
      const parts = assistantParts(message);
      const kept = provider === undefined ? parts : readableFor(parts, provider, stored);
      return { role: "assistant", content: kept.flatMap((part) => assistantPart(part, provider)) };
    }
    case "tool":
      return { role: "tool", content: [toolResult(message, provider)] };
    default:
      return message satisfies never;
  }
}

function readableFor(
  parts: readonly AssistantPart[],
  provider: NonNullable<AISDKOptions["provider"]>,
  stored = true,
): readonly AssistantPart[] {
  const isChat = provider === "openai-chat";
  const runs = parts.filter(
    (part) => part.type === "call" || !isProviderExecuted(part) || (!isChat && canReadProviderCall(part, provider)),
  );
  return isChat ? runs.filter(({ type }) => type !== "thinking") : readableParts(runs, provider, stored);
}

/** The results of one step are one message. Any other group has one message. */
function joinResults(group: readonly AISDKMessage[]): readonly AISDKMessage[] {
  if (group.length < 2) return group;
  return [{ role: "tool", content: group.flatMap((message) => (message.role === "tool" ? message.content : [])) }];
}

/** A prompt message, with the index of the first neutral message it was made from. */
interface IndexedPrompt {
  readonly from: number;
  readonly prompt: AISDKMessage;
}

/** Adds the cache breakpoints. Changes the prompt in place, because no caller has it yet. */
function addMarks(made: readonly IndexedPrompt[], cache: CacheOption): void {
  const systems = made.filter(({ prompt }) => prompt.role === "system");
  for (const [index, { prompt }] of systems.entries()) if (isSystemMarked(index, systems.length)) mark(prompt);
  const parts = made.flatMap(({ from, prompt }) =>
    prompt.role === "system"
      ? []
      : // Several results form one prompt message. Every other prompt message has one neutral message.
        prompt.content.map((part: AISDKAssistantPart, at) => ({
          part,
          message: prompt.role === "tool" ? from + at : from,
        })),
  );
  const blocks = parts.map(({ part, message }) => ({ message, markable: part.type !== "reasoning" }));
  for (const index of marksOf(blocks, cache, systems.length)) {
    const part = parts[index]?.part;
    if (part !== undefined) mark(part);
  }
}

function mark(target: { providerOptions?: AISDKProviderOptions }): void {
  const { anthropic, ...others } = target.providerOptions ?? {};
  target.providerOptions = { ...others, anthropic: { ...anthropic, cacheControl: { ...EPHEMERAL } } };
}

/**
 * Returns metadata under the provider name it came with. The AI SDK calls it providerMetadata in answers and
 * providerOptions in prompts.
 */
function optionsOf({ metadata }: { readonly metadata?: PartMetadata }): {
  providerOptions?: AISDKProviderOptions;
} {
  if (metadata === undefined) return {};
  const { heddle, ...others } = metadata;
  const { approval: _ofCall, ...ours } = heddle ?? {}; // approvals are not options; `withApprovals` writes them
  const kept = Object.keys(ours).length === 0 ? others : metadata;
  const owners = Object.entries(kept).map(([owner, value]) => [owner, thawObject(value)] as const);
  return owners.length === 0 && heddle !== undefined ? {} : { providerOptions: Object.fromEntries(owners) };
}

function textPart(part: TextContentPart): AISDKText {
  return { type: "text", text: part.text, ...optionsOf(part) };
}

function filePart(part: FileContentPart): AISDKFile {
  const source = sourceOf(part);
  const data =
    "url" in source
      ? { type: "url" as const, url: parsedUrl(source.url) }
      : { type: "data" as const, data: source.base64 };
  const filename = part.filename === undefined ? {} : { filename: part.filename };
  return { type: "file", mediaType: mediaTypeOf(part), ...filename, data, ...optionsOf(part) };
}

function textOf({ data }: FileContentPart): string | undefined {
  return "base64" in data ? decodeText(data.base64) : undefined;
}

function parsedUrl(url: string): URL {
  try {
    return new URL(url);
  } catch (cause) {
    throw fileUnsendable("The URL of a file cannot be parsed; give it a scheme such as https:.", cause);
  }
}

function assistantPart(part: AssistantPart, provider: AISDKOptions["provider"]): readonly AISDKAssistantPart[] {
  switch (part.type) {
    case "text":
      return [textPart(part)];
    case "file":
      return [filePart(part)];
    case "thinking":
      return [{ type: "reasoning", text: part.text, ...optionsOf(part) }];
    case "call": {
      const { id: toolCallId, name, arguments: input } = part.call;
      const toolName = sentName(name, provider);
      return [
        { type: "tool-call", toolCallId, toolName, input: thaw(argumentsObject(input)), ...optionsOf(part.call) },
      ];
    }
    case "provider_call": {
      const call = { toolCallId: part.id, toolName: part.name, input: thaw(part.arguments) };
      return [{ type: "tool-call", ...call, providerExecuted: true, ...optionsOf(part) }];
    }
    case "provider_result": {
      const output = { type: part.isError === true ? "error-json" : "json", value: thaw(part.result) } as const;
      return [{ type: "tool-result", toolCallId: part.id, toolName: part.name, output, ...optionsOf(part) }];
    }
    case "custom": {
      const { kind } = part;
      return isKind(kind) ? [{ type: "custom", kind, ...optionsOf(part) }] : [];
    }
    case "source":
      return []; // left out: a prompt cannot contain this part
    default:
      return part satisfies never;
  }
}

/** The packages of Anthropic and OpenAI look a name up in a plain object, and would send a field of every object in its place. */
function sentName(name: string, provider: AISDKOptions["provider"]): string {
  return name in Object.prototype && (provider === "anthropic" || provider === "openai") ? `${name}_` : name;
}

function isKind(kind: unknown): kind is `${string}.${string}` {
  return typeof kind === "string" && kind.includes(".");
}

function toolResult(message: ToolMessage, provider: AISDKOptions["provider"]): AISDKToolResult {
  const { toolCallId, name } = message;
  const toolName = sentName(name, provider);
  return { type: "tool-result", toolCallId, toolName, output: outputOf(message, provider), ...optionsOf(message) };
}

function isUnnamedPdf({ mediaType, filename }: FileContentPart): boolean {
  return mediaType === "application/pdf" && filename === undefined;
}

function outputOf(message: ToolMessage, provider: AISDKOptions["provider"]): AISDKToolResult["output"] {
  const result = toolOutputOf(message);
  switch (result.type) {
    case "text":
      return { type: "text", value: result.text };
    case "error":
      return typeof result.error === "string"
        ? { type: "error-text", value: result.error }
        : { type: "error-json", value: thaw(result.error) };
    case "parts":
      return {
        type: "content",
        value: result.parts.map((part) => {
          if (part.type === "text") return textPart(part);
          // Anthropic's package leaves out text files of a result.
          const text = provider === "anthropic" && part.mediaType === "text/plain" ? textOf(part) : undefined;
          if (text !== undefined) return { type: "text", text, ...optionsOf(part) };
          // OpenAI's package names a file of a result "data", and OpenAI reads a PDF by its ending.
          return filePart(provider === "openai" && isUnnamedPdf(part) ? { ...part, filename: "file.pdf" } : part);
        }),
      };
    default:
      return result satisfies never;
  }
}
