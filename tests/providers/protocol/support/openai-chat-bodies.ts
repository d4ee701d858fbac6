import type { JsonObject } from "heddle";
import type { Illegal, Legal } from "./bodies.ts";

const hi = { role: "user", content: "Hi" };
const call = (id: string, name = "add"): JsonObject => ({ id, type: "function", function: { name, arguments: "{}" } });
const calls = (...tool_calls: readonly JsonObject[]): JsonObject => ({ role: "assistant", content: null, tool_calls });
const result = (tool_call_id: string): JsonObject => ({ role: "tool", tool_call_id, content: "4" });
const list = (...messages: readonly JsonObject[]): JsonObject => ({ messages });
const tool = (called: JsonObject): JsonObject => ({ ...list(hi), tools: [{ type: "function", function: called }] });

const LEGAL: readonly Legal[] = [
  ["an ask", list(hi)],
  ["asks in a row, and a system message in the middle", list(hi, { role: "system", content: "Be brief." }, hi)],
  ["an answer at the end", list(hi, { role: "assistant", content: "Hello" })],
  ["calls with their results, in any order", list(hi, calls(call("a"), call("b")), result("b"), result("a"))],
  ["an id of 64 characters", list(hi, calls(call("x".repeat(64))), result("x".repeat(64)))],
  ["whitespace", list({ role: "user", content: " " })],
  ["a tool without parameters", tool({ name: "add" })],
];

const long = "x".repeat(41);

const ILLEGAL: readonly Illegal[] = [
  ["no messages", "missing_field", "Missing required parameter: 'messages'.", {}],
  ["an empty list", "empty_list", "Invalid 'messages': empty array.", list()],
  [
    "an unknown role",
    "invalid_role",
    "Invalid value: 'model'. Supported values are: 'system', 'assistant'",
    list({ role: "model", content: "Hi" }),
  ],
  [
    "a call without a result",
    "missing_result",
    "did not have response messages: b",
    list(hi, calls(call("a"), call("b")), result("a")),
  ],
  [
    "an ask between call and result",
    "missing_result",
    "must be followed by tool messages responding to each 'tool_call_id'",
    list(hi, calls(call("a")), hi, result("a")),
  ],
  [
    "a result without a call",
    "orphan_result",
    "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'",
    list(hi, result("a")),
  ],
  [
    "a result of an earlier call",
    "orphan_result",
    "messages with role 'tool' must be a response",
    list(hi, calls(call("a")), result("a"), hi, result("a")),
  ],
  [
    "two results of a call",
    "duplicate_result",
    "Duplicate value for 'tool_call_id' of 'a'",
    list(hi, calls(call("a")), result("a"), result("a")),
  ],
  [
    "two calls with one id",
    "duplicate_call_id",
    "Duplicate value for 'id' of 'a'",
    list(hi, calls(call("a"), call("a")), result("a")),
  ],
  [
    "an id that is too long",
    "invalid_call_id",
    "Expected a string with maximum length 64, but got a string with length 65",
    list(hi, calls(call("x".repeat(65))), result("x")),
  ],
  [
    "an id that is too long for an older model",
    "invalid_call_id",
    "maximum length 40",
    { model: "gpt-4o", ...list(hi, calls(call(long)), result(long)) },
  ],
  [
    "a name with a space",
    "invalid_tool_name",
    "string does not match pattern",
    list(hi, calls(call("a", "a b")), result("a")),
  ],
  [
    "arguments that are no text",
    "wrong_type",
    "expected a string, but got an object",
    list(hi, calls({ id: "a", type: "function", function: { name: "add", arguments: {} } }), result("a")),
  ],
  [
    "an answer without content",
    "empty_content",
    "expected a string, got null",
    list(hi, { role: "assistant", content: null }, hi),
  ],
  [
    "an empty answer",
    "empty_content",
    "expected a string, got an empty string",
    list(hi, { role: "assistant", content: "" }, hi),
  ],
  [
    "an ask without parts",
    "empty_content",
    "Invalid 'messages[0].content': empty array.",
    list({ role: "user", content: [] }),
  ],
  [
    "an answer with no call among its calls",
    "empty_calls",
    "Invalid 'messages[1].tool_calls': empty array.",
    list(hi, { role: "assistant", content: "Hm", tool_calls: [] }),
  ],
  [
    "an image in an answer",
    "invalid_part",
    "Supported values are: 'text', and 'refusal'.",
    list(hi, { role: "assistant", content: [{ type: "image_url" }] }),
  ],
  ["a tool without a name", "missing_field", "Missing required parameter: 'tools[0].function.name'.", tool({})],
  [
    "a schema that is no object",
    "invalid_tool_schema",
    `schema must be a JSON Schema of 'type: "object"', got 'type: "None"'`,
    tool({ name: "add", parameters: {} }),
  ],
  [
    "a choice among no tools",
    "tool_choice_without_tools",
    "'tool_choice' is only allowed when 'tools' are specified.",
    { ...list(hi), tool_choice: "auto" },
  ],
  ["no tools in a list of tools", "empty_tools", "Invalid 'tools': empty array.", { ...list(hi), tools: [] }],
  [
    "a cache mark of somebody else",
    "foreign_field",
    "Unknown parameter: 'cache_control'.",
    list({ ...hi, cache_control: { type: "ephemeral" } }),
  ],
];

export const OPENAI_CHAT = { legal: LEGAL, illegal: ILLEGAL };
