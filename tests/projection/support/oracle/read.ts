import type { Content, JsonObject, JsonValue, Part } from "heddle";
import type { PartMetadata, ThinkingPart } from "heddle/core";
import { ProjectionError } from "../../../../src/projection/error.ts";
import type { ProjectionInput } from "../../../../src/projection/input/input.ts";
import type { EntryMessage } from "../../../../src/projection/transcript/entry-reader.ts";
import { isPlainObject } from "../../../../src/thread/json.ts";
import { isBlank, legalAssistant, legalResult, legalUser, partsOf } from "./content.ts";
import type { Place } from "./fold.ts";
import { splitModel, thinkingOf } from "./thoughts.ts";

export interface SaidCall {
  readonly id: string | undefined;
  readonly name: string;
  readonly arguments: JsonValue;
  readonly metadata?: PartMetadata;
  readonly approval?: { readonly approved?: boolean };
}

type What =
  | { readonly type: "user" | "relabelled"; readonly content: Content }
  | {
      readonly type: "assistant";
      readonly content: Content;
      readonly thinking: readonly ThinkingPart[];
      readonly calls: readonly SaidCall[];
    }
  | {
      readonly type: "result";
      readonly content: Content;
      readonly isError: boolean;
      readonly toolCallId: string | undefined;
      readonly name: string | undefined;
      readonly edited: JsonValue | undefined;
    }
  | { readonly type: "unreadable"; readonly error: ProjectionError }
  | { readonly type: "blank" | "nothing" };

export interface Item {
  readonly place: Place;
  readonly what: What;
  readonly callId: string | undefined;
  readonly requestId: string | undefined;
  readonly fingerprint: string | undefined;
  /** An answer that the next one continues. */
  readonly isPaused: boolean;
}

/** What a place says to a model; undefined when its kind is not read at all. */
export function itemOf(
  place: Place,
  kinds: readonly string[],
  { readers, rules }: Pick<ProjectionInput, "readers" | "rules">,
): Item | undefined {
  const { kind, payload, refs } = place;
  const isSnapshot = place.item !== undefined;
  if (!isSnapshot && (!kinds.includes(kind) || kind === "summary" || kind === "ai_context_operation")) return undefined;
  const call = isPlainObject(payload["call"]) ? payload["call"] : {};
  const isPaused = rules !== "heddle/1" && call["finishReason"] === "paused";
  const reader = isSnapshot ? undefined : readers?.[kind];
  return {
    place,
    isPaused,
    what: named(whatOf(place, reader, isPaused), textAt(call, "model")),
    callId: textAt(refs, "callId"),
    requestId: textAt(refs, "requestId") ?? textAt(payload, "requestId"),
    fingerprint: textAt(call, "fingerprint"),
  };
}

/** Thinking in the content is of the model that was called. */
function named(what: What, model: string | undefined): What {
  const maker = model === undefined ? undefined : splitModel(model);
  if (what.type !== "assistant" || typeof what.content === "string" || maker === undefined) return what;
  const content = what.content.map((part): Part => {
    if (part.type !== "thinking") return part;
    const { type, text, provider = maker.provider, model = maker.model, metadata } = part;
    return { type, text, provider, model, ...(metadata !== undefined && { metadata }) };
  });
  return { ...what, content };
}

function whatOf(
  place: Place,
  reader: NonNullable<ProjectionInput["readers"]>[string] | undefined,
  isPaused: boolean,
): What {
  const { seq, kind, payload, refs, v } = place;
  try {
    if (v > (reader?.version ?? 1)) throw new ProjectionError({ code: "entry_too_new", message: "too new", seq, kind });
    if (reader === undefined) return readPlace(place, isPaused);
    const upcast = v < reader.version && reader.upcast ? reader.upcast(payload, v) : payload;
    const said = reader.read(upcast, { seq, kind, refs });
    return said === undefined ? { type: "nothing" } : legal(said, isPaused);
  } catch (cause) {
    if (ProjectionError.isInstance(cause)) return { type: "unreadable", error: cause };
    const error = new ProjectionError({ code: "entry_unreadable", message: "unreadable", seq, kind, cause });
    return { type: "unreadable", error };
  }
}

const ROLES: readonly unknown[] = ["user", "system", "developer", "assistant", "tool"];

function readPlace(place: Place, isPaused: boolean): What {
  const { kind, payload, refs } = place;
  const toolCallId = textAt(payload, "toolCallId") ?? textAt(refs, "toolCallId");
  if (place.item === undefined && kind === "tool_call") {
    const { name, arguments: args } = payload;
    if (typeof name !== "string" || args === undefined) throw new TypeError("not a call");
    const id = textAt(payload, "id") ?? textAt(refs, "toolCallId");
    return assistant("", [], [{ id, name, arguments: args }]);
  }
  if (place.item === undefined && kind === "tool_result") {
    const { result } = payload;
    if (result === undefined) throw new TypeError("not a result");
    return resultOf(outcomeOf(result), toolCallId, textAt(payload, "name"));
  }
  const { role } = payload;
  if (!ROLES.includes(role)) {
    throw new ProjectionError({ code: "unknown_role", message: "unknown role", seq: place.seq, kind });
  }
  const content = contentOf(payload["content"]);
  switch (role) {
    case "user":
      return legal({ type: "user", content: signed(content, payload["author"]) });
    case "system":
    case "developer":
      return legal({ type: "system", content: textOf(content) });
    case "assistant":
      return kind === "message"
        ? assistant(content, [], [], isPaused)
        : assistant(content, thinkingOf(payload), callsOf(payload), isPaused);
    default: {
      const isError = payload["isError"] === true;
      const edited = payload["editedArguments"];
      return { ...resultOf({ content, isError }, toolCallId, textAt(payload, "name")), edited };
    }
  }
}

/** What a reader of the caller's own says. */
function legal(said: EntryMessage, isPaused = false): What {
  switch (said.type) {
    case "user": {
      const content = legalUser(said.content);
      return content === undefined ? { type: "blank" } : { type: "user", content };
    }
    case "system":
      if (isBlank(said.content)) return { type: "blank" };
      return { type: "relabelled", content: `System message:\n${said.content}` };
    case "assistant":
      return assistant(said.content, [], said.toolCalls ?? [], isPaused);
    case "tool_result": {
      const { toolCallId, name, editedArguments: edited } = said;
      return { ...resultOf({ content: said.content, isError: said.isError === true }, toolCallId, name), edited };
    }
    default:
      return said satisfies never;
  }
}

/** A user's content behind the name of the one who wrote it; a blank one says nothing. */
function signed(content: Content, author: unknown): Content {
  const { name, id } = isPlainObject(author) ? author : {};
  const names = [name, id]
    .filter((one) => typeof one === "string")
    .map((one) => one.split(/\s/).filter(Boolean).join(" "));
  const [first] = names.filter((one) => one !== "");
  if (first === undefined || legalUser(content) === undefined) return content;
  if (typeof content === "string") return `From ${first}:\n${content}`;
  return [{ type: "text", text: `From ${first}:` }, ...content];
}

function assistant(
  content: Content,
  thinking: readonly ThinkingPart[],
  calls: readonly SaidCall[],
  isPaused = false,
): What {
  const runs = isPaused ? partsOf(content).filter(({ type }) => /^provider_/.test(type)) : [];
  const said = legalAssistant(content, calls.length + runs.length);
  return said === undefined ? { type: "blank" } : { type: "assistant", content: said, thinking, calls };
}

type Outcome = { readonly content: Content; readonly isError: boolean };

function resultOf(
  { content, isError }: Outcome,
  toolCallId: string | undefined,
  name: string | undefined,
): Extract<What, { readonly type: "result" }> {
  return { type: "result", content: legalResult(content, isError), isError, toolCallId, name, edited: undefined };
}

function outcomeOf(result: JsonValue): Outcome {
  const isPair = isPlainObject(result) && Object.keys(result).length === 2;
  if (isPair && result["ok"] === false && "error" in result) {
    return { content: JSON.stringify({ error: result["error"] }), isError: true };
  }
  const value = isPair && result["ok"] === true && "value" in result ? result["value"] : result;
  return { content: typeof value === "string" ? value : JSON.stringify(value), isError: false };
}

function contentOf(value: unknown): Content {
  if (typeof value === "string") return value;
  if (!Array.isArray(value) || !value.every(isPart)) throw new TypeError("not a content");
  return value;
}

function isPart(value: unknown): value is Part {
  return isPlainObject(value) && typeof value["type"] === "string";
}

function textOf(content: Content): string {
  return partsOf(content)
    .flatMap((part) => (part.type === "text" ? [part.text] : []))
    .join("\n");
}

function callsOf({ toolCalls }: JsonObject): SaidCall[] {
  if (toolCalls === undefined) return [];
  if (!Array.isArray(toolCalls)) throw new TypeError("not calls");
  return (toolCalls as (Partial<SaidCall> | null)[]).map((call) => {
    const { id, name, arguments: args, metadata, approval } = call ?? {};
    if (typeof name !== "string" || args === undefined) throw new TypeError("not a call");
    return { id, name, arguments: args, ...(metadata !== undefined && { metadata }), ...(approval && { approval }) };
  });
}

function textAt(fields: { readonly [key: string]: unknown }, key: string): string | undefined {
  const value = fields[key];
  return typeof value === "string" ? value : undefined;
}
