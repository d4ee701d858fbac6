import { utf8Length } from "../../thread/encoding.ts";
import { HeddleError } from "../../thread/errors.ts";
import { copyJson, describe, isPlainObject } from "../../thread/json.ts";
import { ToolError } from "./errors.ts";
import type { AnyTool, Tools } from "./tool.ts";

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

/** A caller without types may pass any value as the name. */
export function checkToolName(name: unknown): void {
  if (typeof name === "string" && NAME.test(name)) return;
  const shown = typeof name === "string" ? JSON.stringify(name.toWellFormed().slice(0, 80)) : describe(name);
  const message = `The tool name ${shown} is not allowed. Use 1 to 64 of A-Z a-z 0-9 _ and -.`;
  throw new ToolError({ code: "tool_name_invalid", message, path: "tools" });
}

function checkTool(name: string, tool: AnyTool): void {
  checkToolName(name);
  if (typeof tool !== "object" || tool === null) throw invalid(name, `must be a tool, not ${describe(tool)}`);
  const {
    inputSchema,
    description,
    execute,
    needsApproval,
    exclusive,
    toModelOutput,
    repeatable,
    timeoutMs,
    maxRetries,
    approval,
  } = tool;
  if (!["object", "function"].includes(typeof inputSchema) || inputSchema === null) {
    const old = Object.hasOwn(tool, "parameters") ? "; rename parameters, as it was called in the AI SDK 4" : "";
    throw invalid(`${name}.inputSchema`, `must be a schema, not ${describe(inputSchema)}${old}`);
  }
  refuseMisspelledField(name, tool);
  if (execute === undefined) refuseUnknownFunction(name, tool);
  checkType(`${name}.description`, description, ["string", "function"]);
  checkType(`${name}.execute`, execute, ["function"]);
  checkType(`${name}.needsApproval`, needsApproval, ["boolean", "function"]);
  checkType(`${name}.answerSchema`, tool.answerSchema, ["object", "function"]);
  checkType(`${name}.exclusive`, exclusive, ["boolean", "function"]);
  checkType(`${name}.toModelOutput`, toModelOutput, ["function"]);
  checkType(`${name}.repeatable`, repeatable, ["boolean"]);
  if (timeoutMs !== undefined && !(Number.isFinite(timeoutMs) && timeoutMs > 0)) {
    throw invalid(`${name}.timeoutMs`, "must be a number of milliseconds above 0");
  }
  if (maxRetries !== undefined && !(Number.isInteger(maxRetries) && maxRetries >= 0)) {
    throw invalid(`${name}.maxRetries`, "must be a whole number from 0");
  }
  const trouble = approval === undefined ? undefined : approvalProblem(approval);
  if (trouble !== undefined) throw invalid(`${name}.approval`, trouble);
}

/** The problem of the time limit of an approval. */
export function approvalProblem(value: unknown): string | undefined {
  const { timeoutMs, onTimeout, ...others } = isPlainObject(value) ? value : { value };
  const isKnown = Object.keys(others).length === 0 && [undefined, "deny", "fail"].includes(onTimeout as undefined); // any value
  const isTime = Number.isSafeInteger(timeoutMs) && Number(timeoutMs) >= 1;
  return isKnown && isTime ? undefined : 'must be { timeoutMs: a whole number from 1, onTimeout?: "deny" or "fail" }';
}

/** A misspelled `needsApproval` would let the tool run without approval. */
function refuseMisspelledField(name: string, tool: AnyTool): void {
  for (const [field, value] of Object.entries(tool)) {
    const meant = value === undefined ? undefined : suggestField(field);
    if (meant !== undefined) throw invalid(`${name}.${field}`, `is not a field of a tool. Did you mean ${meant}?`);
  }
}

/** Functions that a tool may have, including those of the AI SDK. */
const FUNCTIONS = [
  "description",
  "inputSchema",
  "outputSchema",
  "needsApproval",
  "exclusive",
  "answerSchema",
  "toModelOutput",
  "onInputStart",
  "onInputDelta",
  "onInputAvailable",
];

/** A tool with a misspelled `execute` would wait for an outside answer forever. */
function refuseUnknownFunction(name: string, tool: AnyTool): void {
  const [field] =
    Object.entries(tool).find(([key, value]) => typeof value === "function" && !FUNCTIONS.includes(key)) ?? [];
  if (field === undefined) return;
  throw invalid(`${name}.${field}`, "is not a function of a tool; name it execute");
}

function checkType(path: string, value: unknown, types: readonly string[]): void {
  if (value === undefined || types.includes(typeof value)) return;
  const names = types.map((type) => `${/^[aeiou]/.test(type) ? "an" : "a"} ${type}`);
  throw invalid(path, `must be ${names.join(" or ")}, not ${describe(value)}`);
}

function invalid(path: string, trouble: string): ToolError {
  const end = trouble.endsWith("?") ? "" : ".";
  return new ToolError({ code: "invalid_tool", path, message: `${path} ${trouble}${end}` });
}

/** The fields of a tool. */
const FIELDS: readonly string[] = [
  "inputSchema",
  "description",
  "execute",
  "needsApproval",
  "exclusive",
  "answerSchema",
  "toModelOutput",
  "repeatable",
  "timeoutMs",
  "maxRetries",
  "approval",
];

/** Fields of the AI SDK's tools. They are valid and not misspelled fields of ours. */
const OTHERS: ReadonlySet<string> = new Set(["outputSchema", "contextSchema", "onInputStart", "onInputDelta"]);

/** Field names of other libraries, and the name of that field here. */
const OTHER_NAMES: { readonly [name: string]: string } = {
  requiresapproval: "needsApproval",
  requireapproval: "needsApproval",
  retries: "maxRetries",
};

/** The field that a misspelled name stands for, if any. Other unknown fields are allowed. */
function suggestField(name: string): string | undefined {
  if (FIELDS.includes(name) || OTHERS.has(name)) return undefined;
  const lower = name.toLowerCase();
  if (Object.hasOwn(OTHER_NAMES, lower)) return OTHER_NAMES[lower];
  return FIELDS.find((field) => isNear(lower, field.toLowerCase(), 0.3 * field.length));
}

/** Whether the edit distance of two words is at most `edits`. */
function isNear(a: string, b: string, edits: number): boolean {
  if (a === b) return true;
  const [restA, restB] = [a.slice(1), b.slice(1)];
  if (a[0] === b[0]) return isNear(restA, restB, edits);
  if (edits < 1) return false;
  return isNear(restA, b, edits - 1) || isNear(a, restB, edits - 1) || isNear(restA, restB, edits - 1);
}

/** As long as the output of HMAC-SHA-256. A shorter secret would weaken the signature. */
export const MIN_SECRET_BYTES = 32;

/** The sum of any valid date and this TTL is still a safe integer. */
export const MAX_TTL_MS = Number.MAX_SAFE_INTEGER - 8.64e15;

/** The reason why a secret is invalid; undefined when it is valid. */
export function secretProblem(secret: unknown): string | undefined {
  if (typeof secret !== "string") return `must be a string, not ${describe(secret)}`;
  if (!secret.isWellFormed()) return "has a lone surrogate, which no UTF-8 text can hold";
  if (secret.endsWith("\0")) return "ends in a zero byte, which HMAC ignores";
  if (utf8Length(secret) >= MIN_SECRET_BYTES) return undefined;
  return `is shorter than ${MIN_SECRET_BYTES} bytes; use random bytes`;
}

export function secretsProblem(secrets: unknown): string | undefined {
  if (!Array.isArray(secrets)) return secretProblem(secrets);
  if (secrets.length === 0) return "is an empty list; the first of it signs";
  return secrets.map(secretProblem).find((trouble) => trouble !== undefined);
}

/** The reason why a `tokenBind` is invalid; undefined when it is valid. */
export function bindProblem(bind: unknown): string | undefined {
  if (typeof bind !== "string" && !isPlainObject(bind)) return "must be text or an object";
  try {
    copyJson(bind, "tokenBind");
    return undefined;
  } catch (error) {
    return HeddleError.isInstance(error) ? `must be JSON: ${error.message.replace(/\.$/, "")}` : "could not be read";
  }
}
