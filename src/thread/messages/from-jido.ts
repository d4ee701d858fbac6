import type { EntryInput, Refs } from "../entry.ts";
import { copyJsonObject, isPlainObject, type JsonObject, type JsonValue, sameJson } from "../json.ts";
import { camelCase, camelCaseKey } from "../kinds.ts";
import { DEFAULT_LANE, OPERATION_REASONS } from "../lane-operations.ts";
import { Field } from "./field.ts";
import { readFilePart } from "./file-part.ts";

/** The content of an export, as `Thread.fromJido` takes it. */
interface ImportedThread {
  readonly id?: string;
  readonly createdAt?: number;
  readonly metadata: JsonObject;
  readonly entries: readonly EntryInput[];
}

/**
 * Reads `{ thread, context }`, a thread or a context of Jido, as JSON: keys in snake_case, atoms as texts. The entries of a
 * thread are oldest first, those of a context newest first.
 */
export function readJido(value: unknown): ImportedThread {
  const root = new Field(copyJsonObject(value, "export"), "export");
  const [thread, context] = [root.at("thread"), root.at("context")];
  if (thread.isPresent) return readThread(thread, context);
  if (context.isPresent) return { metadata: {}, entries: entriesOfContext(context) };
  const isThread = root.at("rev").isPresent || root.at("entries").list.some((entry) => entry.at("kind").isPresent);
  return isThread ? readThread(root, context) : { metadata: {}, entries: entriesOfContext(root) };
}

function readThread(thread: Field, context: Field): ImportedThread {
  const { created_at: createdAt, metadata } = thread.object;
  const id = thread.at("id").optionalText;
  const log = new ImportedLog();
  for (const [index, entry] of thread.at("entries").list.entries()) log.add(entry, index);
  if (context.isPresent) log.endWith(context);
  return {
    ...(id !== undefined && { id }),
    ...(typeof createdAt === "number" && { createdAt }),
    metadata: isPlainObject(metadata) ? thread.at("metadata").object : {},
    entries: log.entries,
  };
}

/** The context of a lane, as Jido folds it from the log. */
interface Shown {
  readonly systemPrompt?: string;
  readonly messages: readonly JsonObject[];
}

class ImportedLog {
  readonly entries: EntryInput[] = [];
  readonly #ids = new Set<string>();
  /** The `seq` in Jido of each entry. One operation of Jido may become two entries, and a log of Jido may have gaps. */
  readonly #seqs: number[] = [];
  readonly #shown = new Map<string, Shown>();
  #active = DEFAULT_LANE;

  add(entry: Field, index: number): void {
    const kind = entry.at("kind").optionalText ?? "note";
    const { seq = index, at, id } = entry.object;
    const name = this.#unique(typeof id === "string" ? id : undefined);
    const put = (payload: JsonObject, idOfPart = name): void => {
      const refs = refsOf(entry.at("refs"));
      this.#seqs.push(Number(seq));
      this.entries.push({
        kind,
        payload,
        refs,
        ...(idOfPart !== undefined && { id: idOfPart }),
        ...(typeof at === "number" && { at }),
      });
    };
    const payload = entry.at("payload").isPresent ? entry.at("payload") : new Field({}, entry.path);
    const fields = renamed(kind, payload.object);
    if (kind === "ai_context_operation") {
      for (const [part, operation] of this.#operationsOf(payload, fields).entries())
        put(operation, part === 0 ? name : this.#unique(name && `${name}_switch`));
    } else put(this.#payloadOf(kind, payload, fields));
  }

  #payloadOf(kind: string, payload: Field, fields: JsonObject): JsonObject {
    switch (kind) {
      case "message":
        return { ...fields, ...readMessage(payload) };
      case "ai_message": {
        // The ids stay in the refs. In the payload they would make it a request that an agent resumes.
        const { requestId: _request, runId: _run, ...rest } = fields;
        const message = readMessage(payload);
        const lane = laneIn(fields) ?? this.#active;
        const { messages = [], ...shown } = this.#shown.get(lane) ?? {};
        this.#shown.set(lane, { ...shown, messages: [...messages, message] });
        return { ...rest, ...message };
      }
      case "tool_result":
        return { ...fields, result: readResult(payload.at("result").value ?? null) };
      case "summary": {
        const { fromSeq, toSeq } = fields;
        const from = this.#seqs.findIndex((seq) => seq >= Number(fromSeq ?? 0));
        const to = this.#seqs.findLastIndex((seq) => seq <= Number(toSeq));
        return { ...fields, fromSeq: Math.max(0, from), toSeq: Math.max(0, to) };
      }
      default:
        return fields;
    }
  }

  /** A replace of Jido also makes its lane the active one. */
  #operationsOf(payload: Field, fields: JsonObject): readonly JsonObject[] {
    const operation = payload.at("operation");
    if (!isPlainObject(operation.value)) return [fields];
    const { type, meta } = operation.object;
    const given = operation.at("reason").value;
    const reason = OPERATION_REASONS.includes(given) ? String(given) : "manual";
    const contextRef = laneIn(fields) ?? this.#active;
    const more = { reason, ...(isPlainObject(meta) && { meta: operation.at("meta").object }) };
    const all = { ...fields, opId: String(fields["opId"] ?? `op_${this.entries.length}`), contextRef };
    const isNew = contextRef !== this.#active;
    if (type !== "replace" && type !== "switch") return [fields]; // ignored there and here
    this.#active = contextRef;
    if (type === "switch") return [{ ...all, operation: { type, ...more } }];
    const resultContext = readContext(operation.at("result_context"), `ctx_${all.opId}`);
    this.#shown.set(contextRef, shownIn(resultContext));
    const replace = { ...all, operation: { type, ...more, resultContext } };
    const active = { opId: `${all.opId}_switch`, contextRef, operation: { type: "switch", reason } };
    return isNew ? [replace, active] : [replace];
  }

  /** Where Jido showed the model something else than the log says, as after a failed run, the context is taken. */
  endWith(context: Field): void {
    const last = this.entries.at(-1);
    const resultContext = readContext(context, "ctx_jido");
    const { systemPrompt, messages } = shownIn(resultContext);
    const shown = this.#shown.get(this.#active) ?? { messages: [] };
    const isPromptSame = systemPrompt === undefined || systemPrompt === shown.systemPrompt;
    if (isPromptSame && sameJson(messages, shown.messages)) return;
    const id = this.#unique(last?.id && `${last.id}_context`);
    const operation = { type: "replace", reason: "restore", resultContext };
    this.entries.push({
      kind: "ai_context_operation",
      payload: { opId: String(resultContext["id"]), contextRef: this.#active, operation },
      ...(id !== undefined && { id }),
      ...(last?.at !== undefined && { at: last.at }),
    });
  }

  /** Jido lets two entries have one id. */
  #unique(id: string | undefined): string | undefined {
    if (id === undefined) return undefined;
    let own = id;
    for (let count = 2; this.#ids.has(own); count++) own = `${id}_${count}`;
    this.#ids.add(own);
    return own;
  }
}

/** The entries of a context without a log: its prompt, then its messages, oldest first. */
function entriesOfContext(context: Field): readonly EntryInput[] {
  const id = context.at("id").optionalText;
  const { systemPrompt } = shownIn(readContext(context, ""));
  const prompt = systemPrompt && {
    opId: `op_${id ?? "jido"}`,
    operation: {
      type: "replace",
      reason: "restore",
      resultContext: { id: `ctx_${id ?? "jido"}`, systemPrompt, entries: [] },
    },
  };
  const lead = prompt ? [{ kind: "ai_context_operation", payload: prompt }] : [];
  const messages = context.at("entries").list.toReversed();
  const rest = messages.map((message) => {
    const at = timeOf(message.at("timestamp").value);
    return {
      kind: "ai_message",
      payload: readMessage(message),
      refs: refsOf(message.at("refs")),
      ...(at !== undefined && { at }),
    };
  });
  return [...lead, ...rest].map((entry, index) => ({ ...entry, ...(id !== undefined && { id: `${id}_${index}` }) }));
}

function timeOf(value: JsonValue | undefined): number | undefined {
  // biome-ignore lint/style/noRestrictedGlobals: parsing a text reads no clock
  const at = typeof value === "string" ? Date.parse(value) : value;
  return Number.isSafeInteger(at) ? Number(at) : undefined;
}

/** A context, or nothing, as the `resultContext` of a replace: its entries are newest first in Jido. */
function readContext(context: Field, defaultId: string): JsonObject {
  if (!context.isPresent) return { id: defaultId, entries: [] };
  const systemPrompt = context.at("system_prompt").optionalText;
  return {
    id: context.at("id").optionalText ?? defaultId,
    ...(systemPrompt !== undefined && { systemPrompt }),
    entries: context.at("entries").list.map(readMessage).toReversed(),
  };
}

function shownIn({ systemPrompt, entries }: JsonObject): Shown {
  const messages = entries as readonly JsonObject[]; // `readContext` made them
  return { ...(typeof systemPrompt === "string" && { systemPrompt }), messages };
}

/** The message in the payload of an entry, or in a context. */
function readMessage(message: Field): JsonObject {
  const role = message.at("role").text;
  const name = message.at("name").optionalText;
  const toolCallId = message.at("tool_call_id").optionalText;
  const calls = message.at("tool_calls").list;
  const { thinking, reasoning_details: reasoningDetails } = message.object;
  const content = readContent(message.at("content"));
  const isError = role === "tool" && isFailure(content);
  return {
    role,
    content,
    ...(calls.length > 0 && { toolCalls: calls.map(({ object }) => object) }),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(name !== undefined && { name }),
    ...(isError && { isError }),
    ...(typeof thinking === "string" && thinking !== "" && { thinking }),
    ...(reasoningDetails && { reasoningDetails }),
  };
}

function readContent(content: Field): JsonValue {
  if (!content.isPresent) return "";
  return typeof content.value === "string" ? content.value : content.list.map(readPart);
}

function readPart(part: Field): JsonObject {
  const { metadata: _metadata, media_type: type, ...fields } = part.object;
  if (part.type === "text" || part.type === "thinking") return { type: part.type, text: part.at("text").text };
  // The provider alone has such a file.
  if (part.at("file_id").isPresent) return { ...part.object, type: "custom", kind: part.type };
  const media = type ?? (part.type === "video_url" ? "video/mp4" : undefined);
  const file = readFilePart(new Field(media ? { ...fields, mediaType: media } : fields, part.path));
  return file ?? { ...part.object, type: "custom", kind: part.type };
}

/** A result of Jido's tools is the JSON text of `{ ok: false, error }` after a failure, or parts that begin with it. */
function isFailure(content: JsonValue): boolean {
  const [first] = Array.isArray(content) ? (content as readonly JsonObject[]) : [{ text: content }];
  try {
    const value: unknown = JSON.parse(String(first?.["text"]));
    return isPlainObject(value) && value["ok"] === false;
  } catch {
    return false;
  }
}

/** `{:ok, value}` and `{:error, reason}` have no form in JSON. These are `{ ok: value }`, `["ok", value]` and such. */
function readResult(result: JsonValue): JsonValue {
  const isPair = Array.isArray(result) && result.length === 2;
  const [word, value = null]: readonly (JsonValue | undefined)[] = isPair
    ? (result as readonly JsonValue[])
    : isPlainObject(result) && Object.keys(result).length === 1
      ? (Object.entries(result as JsonObject)[0] ?? [])
      : [];
  if (word === "ok") return { ok: true, value };
  if (word === "error") return { ok: false, error: value };
  if (!isPlainObject(result)) return result;
  const { ok, result: given, ...others } = result as JsonObject;
  return ok === true && given !== undefined && Object.keys(others).length === 0 ? { ok, value: given } : result;
}

/** The payload with the keys of its kind in camelCase. Jido's nil is left out. Other keys are the user's. */
function renamed(kind: string, payload: JsonObject): JsonObject {
  const known = (key: string): string | undefined => camelCaseKey(kind, key);
  const isKept = ([key, value]: readonly [string, unknown]): boolean => value !== null || known(key) === undefined;
  return Object.fromEntries(
    Object.entries(payload)
      .filter(isKept)
      .map(([key, value]) => [known(key) ?? key, value]),
  );
}

function laneIn({ contextRef }: JsonObject): string | undefined {
  return typeof contextRef === "string" && contextRef !== "" ? contextRef : undefined;
}

const REFS: ReadonlySet<string> = new Set(
  "request_id run_id call_id tool_call_id parent_call_id signal_id instruction_id agent_id parent_thread_id entry_id op_id context_ref".split(
    " ",
  ),
);

/** Jido's refs hold any value, ours are scalars: other values become their JSON text. */
function refsOf(refs: Field): Refs {
  if (!refs.isPresent) return {};
  return Object.fromEntries(
    Object.entries(refs.object)
      .filter(([, value]) => value !== null && value !== undefined)
      .map(([key, value]) => [
        REFS.has(key) ? camelCase(key) : key,
        typeof value === "object" ? JSON.stringify(value) : value,
      ]),
  ) as Refs; // scalars
}
