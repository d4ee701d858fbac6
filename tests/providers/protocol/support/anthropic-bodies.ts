import type { JsonObject, JsonValue } from "heddle";
import type { Illegal, Legal } from "./bodies.ts";

const text = (text: string, more: JsonObject = {}): JsonObject => ({ type: "text", text, ...more });
const user = (...content: readonly JsonValue[]): JsonObject => ({ role: "user", content });
const assistant = (...content: readonly JsonValue[]): JsonObject => ({ role: "assistant", content });
const use = (id: string, more: JsonObject = {}): JsonObject => ({
  type: "tool_use",
  id,
  name: "add",
  input: {},
  ...more,
});
const result = (tool_use_id: string, more: JsonObject = {}): JsonObject => ({
  type: "tool_result",
  tool_use_id,
  content: "4",
  ...more,
});
const list = (...messages: readonly JsonObject[]): JsonObject => ({ messages });
const tool = (more: JsonObject): JsonObject => ({
  ...list(hi),
  tools: [{ name: "add", input_schema: { type: "object" }, ...more }],
});
const hi = user(text("Hi"));
const mark = { cache_control: { type: "ephemeral" } };
const image = { type: "image", source: { type: "url", url: "https://example.com/a.png" } };

const NO_RESULT = "`tool_use` ids were found without `tool_result` blocks immediately after";
const ORPHAN = "unexpected `tool_use_id` found in `tool_result` blocks: a.";

const LEGAL: readonly Legal[] = [
  ["an ask", list({ role: "user", content: "Hi" })],
  ["asks in a row", list(hi, hi)],
  [
    "results before text, in one message",
    list(hi, assistant(use("a"), use("b")), user(result("b"), result("a"), text("Hurry"))),
  ],
  ["results in messages of their own", list(hi, assistant(use("a"), use("b")), user(result("a")), user(result("b")))],
  ["an answer at the end for an older model", { model: "claude-sonnet-4-5", ...list(hi, assistant(text("Hel"))) }],
  ["an image from a tool", list(hi, assistant(use("a")), user(result("a", { content: [image] })))],
  ["four cache marks", { ...list(user(text("a", mark), text("b", mark), text("c", mark))), system: [text("x", mark)] }],
  ["a tool", tool({})],
];

const ILLEGAL: readonly Illegal[] = [
  ["no messages", "missing_field", "messages: Field required", {}],
  ["an empty list", "empty_list", "messages: at least one message is required", list()],
  [
    "a tool's role",
    "invalid_role",
    "messages.0.role: Input should be 'user' or 'assistant'",
    list({ role: "tool", content: "4" }),
  ],
  [
    "a system message in the list",
    "system_in_messages",
    `Unexpected role "system"`,
    list(hi, { role: "system", content: "x" }, hi),
  ],
  ["an answer first", "first_not_user", 'first message must use the "user" role', list(assistant(text("Hi")), hi)],
  [
    "an answer at the end",
    "trailing_assistant",
    "This model does not support assistant message prefill. The conversation must end with a user message.",
    list(hi, assistant(text("Hel"))),
  ],
  [
    "an answer at the end for 4.6",
    "trailing_assistant",
    "This model does not support assistant message prefill.",
    { model: "claude-opus-4-6", ...list(hi, assistant(text("Hel"))) },
  ],
  [
    "whitespace at the end of it",
    "trailing_whitespace",
    "final assistant content cannot end with trailing whitespace",
    { model: "claude-sonnet-4-20250514", ...list(hi, assistant(text("Hel "))) },
  ],
  [
    "a message without content",
    "empty_content",
    "messages.1: all messages must have non-empty content",
    list(hi, assistant(), hi),
  ],
  ["an empty text", "empty_text", "messages: text content blocks must be non-empty", list(user(text("")))],
  [
    "a blank text",
    "whitespace_text",
    "messages: text content blocks must contain non-whitespace text",
    list(user(text("Hi"), text("\n "))),
  ],
  [
    "a blank text in a result",
    "whitespace_text",
    "must contain non-whitespace text",
    list(hi, assistant(use("a")), user(result("a", { content: [text(" ")] }))),
  ],
  [
    "an empty system prompt",
    "empty_text",
    "system: text content blocks must be non-empty",
    { ...list(hi), system: [text("")] },
  ],
  [
    "a call without a result",
    "missing_result",
    `messages.1: ${NO_RESULT}: b.`,
    list(hi, assistant(use("a"), use("b")), user(result("a"))),
  ],
  ["a call at the end", "missing_result", NO_RESULT, { model: "claude-sonnet-4-5", ...list(hi, assistant(use("a"))) }],
  [
    "text before the result",
    "missing_result",
    NO_RESULT,
    list(hi, assistant(use("a")), user(text("Hurry"), result("a"))),
  ],
  [
    "an ask between call and result",
    "missing_result",
    NO_RESULT,
    list(hi, assistant(use("a")), hi, assistant(text("Hm")), user(result("a"))),
  ],
  ["a result without a call", "orphan_result", ORPHAN, list(user(result("a")))],
  [
    "a result of an earlier call",
    "orphan_result",
    ORPHAN,
    list(hi, assistant(use("a")), user(result("a")), assistant(text("4")), user(result("a"))),
  ],
  [
    "two results of a call",
    "duplicate_result",
    "each tool_use must have a single result.",
    list(hi, assistant(use("a")), user(result("a"), result("a"))),
  ],
  [
    "two calls with one id",
    "duplicate_call_id",
    "`tool_use` ids must be unique",
    list(hi, assistant(use("a")), user(result("a")), assistant(use("a")), user(result("a"))),
  ],
  [
    "an id with other characters",
    "invalid_call_id",
    "String should match pattern '^[a-zA-Z0-9_-]+$'",
    list(hi, assistant(use("call|x.y:z")), user(result("call|x.y:z"))),
  ],
  [
    "an id that is too long",
    "invalid_call_id",
    "at most 64 characters",
    list(hi, assistant(use("x".repeat(65))), user(result("x".repeat(65)))),
  ],
  [
    "arguments that are no object",
    "invalid_arguments",
    "tool_use.input: Input should be a valid dictionary",
    list(hi, assistant(use("a", { input: "{}" })), user(result("a"))),
  ],
  [
    "a result in an answer",
    "invalid_part",
    "`tool_result` blocks can not be in `assistant` messages",
    list(hi, assistant(result("a")), hi),
  ],
  [
    "an image in the result of a failed call",
    "error_result_with_image",
    'all content must be type "text" if `is_error` is true',
    list(hi, assistant(use("a")), user(result("a", { is_error: true, content: [image] }))),
  ],
  [
    "thinking without a signature",
    "foreign_thinking",
    "thinking.signature: Field required",
    list(hi, assistant({ type: "thinking", thinking: "hm" }, text("Hi")), hi),
  ],
  [
    "thinking that was signed elsewhere",
    "foreign_thinking",
    "messages.1.content.0: Invalid `signature` in `thinking` block",
    list(hi, assistant({ type: "thinking", thinking: "hm", signature: "x" }, text("Hi")), hi),
  ],
  [
    "five cache marks",
    "too_many_marks",
    "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    list(user(...["a", "b", "c", "d", "e"].map((one) => text(one, mark)))),
  ],
  [
    "a cache mark on thinking",
    "marked_thinking",
    "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
    list(hi, assistant({ type: "thinking", thinking: "hm", signature: "x", ...mark }, text("Hi")), hi),
  ],
  [
    "a tool without a schema",
    "invalid_tool_schema",
    "tools.0.custom.input_schema: Field required",
    { ...list(hi), tools: [{ name: "add" }] },
  ],
  ["a schema that is no object", "invalid_tool_schema", "input_schema.type", tool({ input_schema: {} })],
  [
    "a tool with a space in its name",
    "invalid_tool_name",
    "tools.0.custom.name: String should match pattern",
    tool({ name: "a b" }),
  ],
  [
    "two tools of one name",
    "duplicate_tool",
    "tools: Tool names must be unique.",
    { ...list(hi), tools: ["add", "add"].map((name) => ({ name, input_schema: { type: "object" } })) },
  ],
  [
    "a choice among no tools",
    "tool_choice_without_tools",
    "tool_choice may only be specified while providing tools",
    { ...list(hi), tool_choice: { type: "auto" } },
  ],
];

export const ANTHROPIC = { legal: LEGAL, illegal: ILLEGAL };
