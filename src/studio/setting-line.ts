import type { Entry } from "../thread/entry.ts";
import { isPlainObject, type JsonObject } from "../thread/json.ts";

/** Says in one line what an `ai_setting` entry sets, for which lane, by whom and why. */
export function settingLine({ payload, refs }: Pick<Entry, "payload" | "refs">): string {
  const { setting, contextRef, by, reason } = payload as JsonObject; // every entry payload is a JSON object
  const words = [
    isPlainObject(setting) ? settingText(setting as JsonObject) : "malformed", // a part of a payload
    contextRef === undefined ? "" : `lane ${contextRef}`,
    by === undefined ? "" : `by ${by}`,
    refs["source"] === undefined ? "" : `from ${refs["source"]}`,
    reason,
  ];
  return words.filter(Boolean).join(" · ");
}

function settingText({ type, value, name }: JsonObject): string {
  switch (type) {
    case "system_prompt":
      return value === null ? "system prompt of the agent" : `system prompt ${JSON.stringify(value)}`;
    case "context_policy":
      return value === null ? "policy of the agent" : `policy ${JSON.stringify(value)}`;
    case "tool":
      return `tool ${name}`;
    case "tool_removed":
      return `tool ${name} removed`;
    case "rule": {
      const { tool, verdict, pattern } = Object(value) as JsonObject;
      const where = pattern === undefined ? "all calls" : JSON.stringify(pattern);
      return value === null ? `rule ${name} revoked` : `${verdict} ${tool} for ${where}`;
    }
    default:
      return String(type);
  }
}
