import type { JsonObject } from "heddle";
import type { Illegal, Legal } from "./bodies.ts";

const hi = { role: "user", content: [{ type: "input_text", text: "Hi" }] };
const hello = { role: "assistant", content: [{ type: "output_text", text: "Hello" }] };
const call = (call_id: string, name = "add"): JsonObject => ({ type: "function_call", call_id, name, arguments: "{}" });
const result = (call_id: string): JsonObject => ({ type: "function_call_output", call_id, output: "4" });
const list = (...input: readonly JsonObject[]): JsonObject => ({ input });
const tool = (called: JsonObject): JsonObject => ({ ...list(hi), tools: [{ type: "function", ...called }] });
const said = (role: string, type: string): JsonObject => ({ role, content: [{ type, text: "Hi" }] });

const LEGAL: readonly Legal[] = [
  ["a text alone", { input: "Hi" }],
  ["an answer at the end", list(hi, hello)],
  ["calls with their outputs, and an ask between them", list(hi, call("a"), call("b"), result("b"), hi, result("a"))],
  ["an output made of parts", list(hi, call("a"), { ...result("a"), output: [{ type: "input_text", text: "4" }] })],
  ["a tool", tool({ name: "add", parameters: { type: "object" } })],
];

const ILLEGAL: readonly Illegal[] = [
  ["no input", "missing_field", "Missing required parameter: 'input'.", {}],
  ["an empty list", "empty_list", "Invalid 'input': empty array.", list()],
  ["an unknown item", "invalid_item", "Invalid value: 'tool'.", list({ type: "tool" })],
  ["an unknown role", "invalid_role", "Invalid value: 'model'.", list({ role: "model", content: "Hi" })],
  [
    "a call without an output",
    "missing_result",
    "No tool output found for function call b.",
    list(hi, call("a"), call("b"), result("a")),
  ],
  [
    "an output without a call",
    "orphan_result",
    "No tool call found for function call output with call_id a.",
    list(hi, result("a")),
  ],
  [
    "an output before its call",
    "orphan_result",
    "No tool call found for function call output",
    list(hi, result("a"), call("a")),
  ],
  [
    "two outputs of a call",
    "duplicate_result",
    "Duplicate function call output",
    list(hi, call("a"), result("a"), result("a")),
  ],
  [
    "two calls with one id",
    "duplicate_call_id",
    "Duplicate function call found",
    list(hi, call("a"), result("a"), call("a")),
  ],
  [
    "an id that is too long",
    "invalid_call_id",
    "maximum length 64",
    list(hi, call("x".repeat(65)), result("x".repeat(65))),
  ],
  ["an empty id", "invalid_call_id", "Expected a string with minimum length 1", list(hi, call(""), result(""))],
  [
    "a name with a space",
    "invalid_tool_name",
    "string does not match pattern",
    list(hi, call("a", "a b"), result("a")),
  ],
  [
    "arguments that are no text",
    "wrong_type",
    "expected a string, but got an object",
    list(hi, { ...call("a"), arguments: {} }, result("a")),
  ],
  [
    "an ask without parts",
    "empty_content",
    "Invalid 'input[0].content': empty array.",
    list({ role: "user", content: [] }),
  ],
  [
    "an answer in the form of an ask",
    "invalid_part",
    "Supported values are: 'output_text', and 'refusal'.",
    list(hi, said("assistant", "input_text")),
  ],
  [
    "an ask in the form of an answer",
    "invalid_part",
    "Invalid value: 'output_text'.",
    list(said("user", "output_text")),
  ],
  [
    "reasoning that was sealed elsewhere",
    "foreign_reasoning",
    "could not be verified",
    list(hi, { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "x" }, hello),
  ],
  [
    "a tool without a schema",
    "missing_field",
    "Missing required parameter: 'tools[0].parameters'.",
    tool({ name: "add" }),
  ],
  [
    "a schema that is no object",
    "invalid_tool_schema",
    "schema must be a JSON Schema",
    tool({ name: "add", parameters: { type: "string" } }),
  ],
];

export const OPENAI_RESPONSES = { legal: LEGAL, illegal: ILLEGAL };
