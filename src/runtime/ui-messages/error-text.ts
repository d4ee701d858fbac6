import type { Failure } from "../../agent/signal.ts";
import { isPlainObject, type JsonValue } from "../../thread/json.ts";
import type { Content } from "../../thread/message.ts";
import { joinedText } from "../../thread/messages/neutral-message.ts";

export type ErrorText = ((failure: Failure) => string) | undefined;

/** Why a request failed is for its owner; its user is told that it did. */
export function requestErrorText(failure: Failure, onError: ErrorText): string {
  return onError?.(failure) ?? "An error occurred.";
}

/** What a tool threw may hold anything; what Heddle says of a call, or a ToolError, is meant to be read. */
export function toolErrorText(content: Content, onError: ErrorText): string {
  const failure = failureIn(joinedText(content));
  if (onError !== undefined) return onError(failure);
  return failure.code === THROWN ? "The tool failed." : failure.message;
}

const THROWN = "tool_failed";

function failureIn(text: string): Failure {
  const error = errorIn(text);
  const { type, message } = isPlainObject(error) ? (error as { readonly [key: string]: JsonValue }) : {}; // parsed JSON
  if (typeof type === "string" && typeof message === "string") return { code: type, message };
  return { code: THROWN, message: text };
}

function errorIn(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isPlainObject(value) ? value["error"] : undefined;
  } catch {
    return undefined;
  }
}
