import {
  canReadProviderCall,
  type FileContentPart,
  isProviderExecuted,
  type Message,
  type Part,
  type TextContentPart,
  type ToolCall,
} from "../thread/message.ts";
import type { ProviderApi } from "./message-parts.ts";

/** A rule that a list of messages must follow for some providers. */
export interface Rule {
  readonly providers: readonly ProviderApi[];
  /** Describes the problem of a message that violates the rule. */
  readonly trouble: string;
  /** Returns the index of the first message that violates the rule for a provider, or -1. */
  readonly find: (messages: readonly Message[], provider: ProviderApi) => number;
}

export const EVERY_PROVIDER: readonly ProviderApi[] = ["openai-chat", "openai-responses", "anthropic", "gemini"];

/** Makes a rule for all providers. Some do not enforce it, but a list that follows it can be sent to all. */
function ruleForAll(trouble: string, find: Rule["find"]): Rule {
  return { providers: EVERY_PROVIDER, trouble, find };
}

function ruleFor(provider: ProviderApi, trouble: string, find: Rule["find"]): Rule {
  return { providers: [provider], trouble, find };
}

/** Rules about the order of roles. */
const orderRules = {
  /** The providers' error: "At least one message is required". System messages do not count. */
  empty_list: ruleForAll("a conversation needs a message besides system messages.", (messages) =>
    firstNonSystem(messages) < 0 ? 0 : -1,
  ),
  /** Anthropic and Gemini do not accept system messages in the list. */
  system_not_first: ruleForAll("a system message must stand before all others.", (messages) => {
    const first = firstNonSystem(messages);
    return messages.findIndex(({ role }, index) => role === "system" && first >= 0 && index > first);
  }),
  /** Anthropic requires this. Gemini requires a user message before the first call. */
  first_not_user: ruleForAll("the first message after the system messages must be the user's.", (messages) => {
    const first = firstNonSystem(messages);
    return messages[first]?.role === "user" ? -1 : first;
  }),
  /** Newer Claude models and Gemini refuse such a list. OpenAI would answer its own answer. */
  trailing_assistant: ruleForAll("the last message must be the user's or a tool's.", (messages) =>
    messages.at(-1)?.role === "assistant" ? messages.length - 1 : -1,
  ),
  /** Gemini's error: "Function call turn must come immediately after a user turn or after a function response turn." */
  misplaced_call: ruleFor("gemini", "a message with calls must not follow another assistant message.", (messages) =>
    messages.findIndex((message, index) => makesCalls(message) && messages[index - 1]?.role === "assistant"),
  ),
} satisfies { [rule: string]: Rule };

function firstNonSystem(messages: readonly Message[]): number {
  return messages.findIndex(({ role }) => role !== "system");
}

function makesCalls(message: Message): boolean {
  return message.role === "assistant" && (message.toolCalls ?? []).length > 0;
}

/** Rules about calls and results: every call is followed directly by its result. */
const exchangeRules = {
  /** OpenAI's error: "An assistant message with tool_calls must be followed by tool messages responding to each." */
  missing_result: ruleForAll("a call of this message has no result.", (messages) => {
    const answered = new Set(messages.map((message) => (message.role === "tool" ? message.toolCallId : undefined)));
    return messages.findIndex((message) => callsOf(message).some(({ id }) => !answered.has(id)));
  }),
  /** OpenAI's error: "Messages with role tool must be a response to a preceding message with tool_calls." */
  orphan_result: ruleForAll("no message before this result calls for it.", (messages) => {
    const called = new Set<string>();
    return messages.findIndex((message) => {
      for (const { id } of callsOf(message)) called.add(id);
      return message.role === "tool" && !called.has(message.toolCallId);
    });
  }),
  /** Anthropic: "tool_use ids were found without tool_result blocks immediately after." */
  result_not_adjacent: ruleForAll("this result is not in the group right behind its call.", (messages) => {
    const adjacent = new Set(exchangesOf(messages).flatMap(({ own }) => own.map(({ index }) => index)));
    const called = new Set(messages.flatMap(callsOf).map(({ id }) => id));
    const repeats = repeatsIn(messages);
    return messages.findIndex(
      (message, index) =>
        message.role === "tool" && called.has(message.toolCallId) && !adjacent.has(index) && !repeats.has(index),
    );
  }),
  duplicate_call_id: ruleForAll("another call before has the same id.", (messages) => {
    const seen = new Set<string>();
    return messages.findIndex((message) => callsOf(message).some(({ id }) => seen.size === seen.add(id).size));
  }),
  /** Anthropic requires exactly one tool_result for each tool_use. */
  duplicate_result: ruleForAll("the call has a result already.", (messages) => {
    const [first = -1] = repeatsIn(messages);
    return first;
  }),
  /** Gemini matches results and calls by order. */
  result_order: ruleForAll("results must stand in the order of their calls.", (messages) => {
    for (const { calls, own } of exchangesOf(messages)) {
      const placeOf = new Map(calls.map(({ id }, place) => [id, place] as const).reverse()); // reversed, so that the first of equal ids wins
      const places = own.map(({ id }) => placeOf.get(id) ?? -1);
      const wrong = places.findIndex((place, at) => place < (places[at - 1] ?? 0));
      if (wrong >= 0) return own[wrong]?.index ?? -1;
    }
    return -1;
  }),
} satisfies { [rule: string]: Rule };

/** Returns the indices of repeated results: their call has a result already. */
function repeatsIn(messages: readonly Message[]): ReadonlySet<number> {
  const repeats = new Set<number>();
  const hasResult = new Map<string, boolean>();
  for (const [index, message] of messages.entries()) {
    for (const { id } of callsOf(message)) hasResult.set(id, false);
    if (message.role !== "tool") continue;
    const { toolCallId: id } = message;
    if (hasResult.get(id) === true) repeats.add(index);
    else if (hasResult.has(id)) hasResult.set(id, true);
  }
  return repeats;
}

/** A message with calls, and the results directly after it that answer these calls. */
interface CallsWithResults {
  readonly calls: readonly ToolCall[];
  readonly own: readonly { readonly index: number; readonly id: string; readonly name: string }[];
}

function exchangesOf(messages: readonly Message[]): readonly CallsWithResults[] {
  return messages.flatMap((message, index) => {
    const calls = callsOf(message);
    return calls.length === 0 ? [] : [{ calls, own: resultsBehind(messages, index, calls) }];
  });
}

function callsOf(message: Message): readonly ToolCall[] {
  return message.role === "assistant" ? (message.toolCalls ?? []) : [];
}

function resultsBehind(
  messages: readonly Message[],
  start: number,
  calls: readonly ToolCall[],
): CallsWithResults["own"] {
  const own: { index: number; id: string; name: string }[] = [];
  for (let index = start + 1; index < messages.length; index++) {
    const message = messages[index];
    if (message?.role !== "tool") break;
    const { toolCallId: id, name } = message;
    if (calls.some((call) => call.id === id)) own.push({ index, id, name });
  }
  return own;
}

/** Anthropic accepts up to 64 characters and OpenAI 40. Anthropic refuses other characters. */
const CALL_ID = /^[A-Za-z0-9_-]{1,40}$/;
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Rules about ids and names of calls and results. */
const nameRules = {
  invalid_call_id: ruleForAll("the id of a call must be 1 to 40 of A-Z a-z 0-9 _ -.", (messages) =>
    messages.findIndex((message) => callsOf(message).some(({ id }) => !CALL_ID.test(id))),
  ),
  invalid_tool_name: ruleForAll("the name of a called tool must be 1 to 64 of A-Z a-z 0-9 _ -.", (messages) =>
    messages.findIndex((message) => callsOf(message).some(({ name }) => !TOOL_NAME.test(name))),
  ),
  /** Gemini matches a result by the name of the function. */
  result_name_mismatch: ruleFor("gemini", "a result must name the tool that was called.", (messages) => {
    const wrong = exchangesOf(messages).flatMap(({ calls, own }) =>
      own.filter(({ id, name }) => calls.find((call) => call.id === id)?.name !== name),
    );
    return wrong[0]?.index ?? -1;
  }),
} satisfies { [rule: string]: Rule };

/** Rules about the content of a message. */
const contentRules = {
  /** Gemini's error: "contents.parts must not be empty". The other providers have similar errors. */
  empty_content: ruleForAll("a message needs text, and the assistant's text or a call.", (messages) =>
    messages.findIndex(isEmpty),
  ),
  /** Anthropic: "text content blocks must be non-empty". */
  empty_text: ruleForAll("a text is empty; leave it out.", (messages) => messages.findIndex(hasEmptyText)),
  /** Anthropic: "text content blocks must contain non-whitespace text". */
  whitespace_text: ruleForAll("a text is nothing but whitespace.", (messages) =>
    messages.findIndex((message) => textsOf(message).some((text) => text !== "" && text.trim() === "")),
  ),
  /** Anthropic: "final assistant content cannot end with trailing whitespace". */
  trailing_whitespace: ruleFor(
    "anthropic",
    "the assistant's text at the end of the list ends in whitespace.",
    (messages) => {
      const last = messages.at(-1);
      const ends = last?.role === "assistant" && /\s$/.test(textsOf(last).at(-1) ?? "");
      return ends ? messages.length - 1 : -1;
    },
  ),
  error_result_with_image: ruleFor("anthropic", "the result of a failed call may hold text only.", (messages) =>
    messages.findIndex((message) => message.role === "tool" && message.isError === true && filesOf(message).length > 0),
  ),
  /** A blob is in Heddle's store, which no provider can read. */
  unresolved_file: ruleForAll("a file is a blob; replace it by base64 or a URL.", (messages) =>
    messages.findIndex((message) => filesOf(message).some(({ data }) => "blob" in data)),
  ),
  /**
   * Only the provider that ran a call can read it. Packages of other providers send it as a call without a result,
   * which is refused.
   */
  foreign_provider_call: ruleForAll(
    "a call here was run by another provider; leave it and its result out.",
    (messages, provider) =>
      messages.findIndex((message) =>
        assistantPartsOf(message).some(
          (part) =>
            isProviderExecuted(part) && !(provider !== "openai-chat" && canReadProviderCall(part, OWNERS[provider])),
        ),
      ),
  ),
  invalid_file_url: ruleForAll("the URL of a file cannot be parsed.", (messages) =>
    messages.findIndex((message) => filesOf(message).some(({ data }) => "url" in data && !URL.canParse(data.url))),
  ),
} satisfies { [rule: string]: Rule };

const OWNERS = {
  "openai-chat": "openai",
  "openai-responses": "openai",
  anthropic: "anthropic",
  gemini: "google",
} as const satisfies { [provider in ProviderApi]: string };

/** Returns the parts of an assistant message. Formatters read calls that a provider ran only there. */
function assistantPartsOf(message: Message): readonly Part[] {
  return message.role === "assistant" ? partsIn(message) : [];
}

function partsIn(message: Message): readonly Part[] {
  return typeof message.content === "string" ? [] : message.content;
}

function textParts(message: Message): readonly TextContentPart[] {
  return partsIn(message).filter((part) => part.type === "text");
}

function filesOf(message: Message): readonly FileContentPart[] {
  return partsIn(message).filter((part) => part.type === "file");
}

/**
 * Returns the texts that providers check. They check the text parts of a tool result, but not a result that is a single
 * text.
 */
function textsOf(message: Message): readonly string[] {
  if (typeof message.content !== "string") return textParts(message).map(({ text }) => text);
  return message.role === "tool" ? [] : [message.content];
}

/**
 * Whether a message has an empty text. An assistant text with metadata is allowed: it carries a signature of Gemini,
 * and formatters handle it.
 */
function hasEmptyText(message: Message): boolean {
  if (message.role === "system") return message.content === "";
  const carriesMore = (part: TextContentPart): boolean => message.role === "assistant" && part.metadata !== undefined;
  return textParts(message).some((part) => part.text === "" && !carriesMore(part));
}

function isEmpty(message: Message): boolean {
  const hasText =
    message.content !== "" &&
    (typeof message.content === "string" || textParts(message).some(({ text }) => text !== ""));
  switch (message.role) {
    case "user":
      return !hasText && filesOf(message).length === 0;
    case "assistant":
      // Thinking alone is not an answer. Files do not count either, because only Gemini accepts them here.
      return !hasText && (message.toolCalls ?? []).length === 0;
    case "system":
    case "tool":
      return false; // the rule `empty_text` checks system messages; a tool result may be empty
    default:
      return message satisfies never;
  }
}

const ALL_RULES = { ...orderRules, ...exchangeRules, ...nameRules, ...contentRules };

/** The stable name of a rule. */
export type RuleId = keyof typeof ALL_RULES;

/**
 * Every rule, by its stable name, with the providers it applies to.
 *
 * @example
 * console.log(RULES.trailing_whitespace.providers); // [ 'anthropic' ]
 */
export const RULES: { readonly [rule in RuleId]: Rule } = ALL_RULES;
