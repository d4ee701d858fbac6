import { describe, isPlainObject } from "../../thread/json.ts";
import type { AnyTool, Tools } from "./tool.ts";
import { ToolError } from "./tool-error.ts";
import { meantField } from "./tool-fields.ts";

/** Tool names that every provider accepts. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Refuses invalid tools before a model is called. */
export function checkTools(tools: Tools): void {
  if (!isPlainObject(tools)) throw invalid("tools", `must be an object of tools by name, not ${describe(tools)}`);
  for (const [name, tool] of Object.entries(tools)) checkTool(name, tool);
}

/** Checks the tools of an agent. Their descriptions must be texts, because there is no request context yet. */
export function checkAgentTools(tools: Tools): void {
  checkTools(tools);
  for (const [name, { description }] of Object.entries(tools)) {
    if (typeof description !== "function") continue;
    const fix = "give a text, or the tool with its text to the request: server.ask(content, { tools })";
    throw invalid(
      `${name}.description`,
      `cannot be a function, because tool descriptions are recorded and cached; ${fix}`,
    );
  }
}

function checkTool(name: string, tool: AnyTool): void {
  if (!NAME.test(name)) {
    const message = `The tool name ${JSON.stringify(name.toWellFormed().slice(0, 80))} is not allowed. Use 1 to 64 of A-Z a-z 0-9 _ and -.`;
    throw new ToolError({ code: "tool_name_invalid", message, path: "tools" });
  }
  if (typeof tool !== "object" || tool === null) throw invalid(name, `must be a tool, not ${describe(tool)}`);
  const { inputSchema, description, execute, needsApproval, toModelOutput, repeatable, timeoutMs, maxRetries } = tool;
  if (!["object", "function"].includes(typeof inputSchema) || inputSchema === null) {
    const old = Object.hasOwn(tool, "parameters") ? "; rename parameters, as it was called in the AI SDK 4" : "";
    throw invalid(`${name}.inputSchema`, `must be a schema, not ${describe(inputSchema)}${old}`);
  }
  noNearField(name, tool);
  if (execute === undefined) noOtherFunction(name, tool);
  ofType(`${name}.description`, description, ["string", "function"]);
  ofType(`${name}.execute`, execute, ["function"]);
  ofType(`${name}.needsApproval`, needsApproval, ["boolean", "function"]);
  ofType(`${name}.toModelOutput`, toModelOutput, ["function"]);
  ofType(`${name}.repeatable`, repeatable, ["boolean"]);
  if (timeoutMs !== undefined && !(Number.isFinite(timeoutMs) && timeoutMs > 0)) {
    throw invalid(`${name}.timeoutMs`, "must be a number of milliseconds above 0");
  }
  if (maxRetries !== undefined && !(Number.isInteger(maxRetries) && maxRetries >= 0)) {
    throw invalid(`${name}.maxRetries`, "must be a whole number from 0");
  }
}

/** A misspelled `needsApproval` would let the tool run without approval. */
function noNearField(name: string, tool: AnyTool): void {
  for (const [field, value] of Object.entries(tool)) {
    const meant = value === undefined ? undefined : meantField(field);
    if (meant !== undefined) throw invalid(`${name}.${field}`, `is not a field of a tool. Did you mean ${meant}?`);
  }
}

/** Functions that a tool may have, including those of the AI SDK. */
const FUNCTIONS = [
  "description",
  "inputSchema",
  "outputSchema",
  "needsApproval",
  "toModelOutput",
  "onInputStart",
  "onInputDelta",
  "onInputAvailable",
];

/** A tool with a misspelled `execute` would wait for an outside answer forever. */
function noOtherFunction(name: string, tool: AnyTool): void {
  const [field] =
    Object.entries(tool).find(([key, value]) => typeof value === "function" && !FUNCTIONS.includes(key)) ?? [];
  if (field === undefined) return;
  throw invalid(`${name}.${field}`, "is not a function of a tool; name it execute");
}

function ofType(path: string, value: unknown, types: readonly string[]): void {
  if (value === undefined || types.includes(typeof value)) return;
  throw invalid(path, `must be a ${types.join(" or a ")}, not ${describe(value)}`);
}

function invalid(path: string, trouble: string): ToolError {
  const end = trouble.endsWith("?") ? "" : ".";
  return new ToolError({ code: "invalid_tool", path, message: `${path} ${trouble}${end}` });
}
