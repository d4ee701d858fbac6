import type { JsonObject } from "../thread/json.ts";
import { WIRES } from "./calls/wire.ts";
import { SCHEMAS } from "./openapi-schemas.ts";
import { SORTS } from "./threads/sorts.ts";
import { VERSION } from "./version.ts";

type Fields = { readonly [name: string]: JsonObject };

interface Described {
  readonly summary: string;
  readonly query?: Fields;
  /** Fields of the body; those whose name ends in `!` have to be there. */
  readonly body?: Fields;
  readonly status?: 200 | 201 | 202;
  /** What comes back: a schema, or a media type where it is not JSON. */
  readonly gives: JsonObject | string;
}

const text: JsonObject = { type: "string" };
const whole: JsonObject = { type: "integer", minimum: 0 };
const any: JsonObject = {};
const object: JsonObject = { type: "object" };
const ref = (name: keyof typeof SCHEMAS): JsonObject => ({ $ref: `#/components/schemas/${name}` });
const listOf = (items: JsonObject): JsonObject => ({ type: "array", items });
const oneOf = (...words: readonly string[]): JsonObject => ({ type: "string", enum: [...words] });
const content: JsonObject = { oneOf: [text, listOf(object)], description: "Text, or parts of a message." };
const time: JsonObject = { type: "string", description: "Milliseconds since 1970, or a date as ISO 8601 writes it." };
const decision = { "toolCallId!": text, by: text, note: text };
const EVENTS = "text/event-stream";

const PATHS: { readonly [path: string]: { readonly [method: string]: Described } } = {
  "/api/info": { get: { summary: "What this Studio is", gives: ref("Info") } },
  "/api/openapi.json": { get: { summary: "This document", gives: object } },
  "/api/enter": {
    post: {
      summary: "Changes the code of a one-time address for the token",
      body: { "code!": text },
      gives: ref("Entered"),
    },
  },
  "/api/codes": {
    post: {
      summary: "A code that is good once, as `?code=` of an export",
      body: {},
      status: 201,
      gives: ref("MintedCode"),
    },
  },
  "/api/events": {
    get: {
      summary:
        "Threads as they change: `ready`, `thread`, `deleted`; and what happens in some threads, as their own streams send " +
        "it, with `threadId`. Last-Event-ID goes on from where the connection was lost",
      query: { threads: { ...text, description: "Ids of threads, with commas between them." } },
      gives: EVENTS,
    },
  },
  "/api/threads": {
    get: {
      summary: "Threads, newest first; a `search` answers what it finds in time, and its `cursor` goes on with it",
      query: {
        search: text,
        status: text,
        agent: text,
        since: time,
        until: time,
        order: oneOf("updated", "created"),
        limit: whole,
        cursor: text,
      },
      gives: ref("ThreadPage"),
    },
    post: { summary: "A new thread", body: { title: text }, status: 201, gives: ref("ThreadRow") },
  },
  "/api/import": {
    post: {
      summary: "Takes in an export (JSON or JSONL) or a list of messages, as a thread of its own",
      query: { format: oneOf("json", "jsonl", "neutral", "openai-chat", "anthropic", "model-messages", "ui-messages") },
      body: {},
      status: 201,
      gives: ref("ThreadRow"),
    },
  },
  "/api/threads/{id}": {
    get: { summary: "A thread: its lanes, the request that is open, its forks", gives: ref("ThreadDetail") },
    delete: { summary: "Removes a thread", gives: ref("Deleted") },
  },
  "/api/threads/{id}/entries": {
    get: {
      summary:
        "A window of entries: `from` and `to`, the `last` ones, or those `around` one. Of some `kinds` or one `lane`: " +
        "forward from `from`, else back from `to`, as many as are found in time",
      query: {
        ...{ from: whole, to: whole, last: whole, around: whole, limit: whole, lane: text },
        kinds: {
          ...text,
          description: `With commas between them: kinds of entries, or ${SORTS.join(", ")}, which may be parts of a message.`,
        },
      },
      gives: ref("EntryWindow"),
    },
  },
  "/api/threads/{id}/tail": {
    get: {
      summary: "The end of a thread at a moment, as Thread.fromJSON takes it: enough to project it elsewhere",
      query: { atSeq: whole, last: whole },
      gives: ref("Tail"),
    },
  },
  "/api/threads/{id}/events": {
    get: {
      summary:
        "What happens in a thread: `thread`, `entry` with ids that Last-Event-ID goes on from, `agent` of a live request",
      query: { from: { ...whole, description: "The first entry to send; default the next one." } },
      gives: EVENTS,
    },
  },
  "/api/threads/{id}/view": {
    post: {
      summary: "What a model would be shown",
      body: { atSeq: whole, lane: text, policy: object, system: text, tools: listOf(object), model: text },
      gives: ref("View"),
    },
  },
  "/api/threads/{id}/calls": {
    get: {
      summary: "Model calls, newest first",
      query: { before: whole, limit: whole },
      gives: ref("CallPage"),
    },
  },
  "/api/threads/{id}/calls/{callId}": {
    get: {
      summary: "What one call was shown, rebuilt and proven, and what changed since the call before",
      query: { seq: { ...whole, description: "Where the call stands, which saves a search." } },
      gives: ref("CallDetail"),
    },
  },
  "/api/threads/{id}/calls/{callId}/wire": {
    get: {
      summary: "The messages of a call in the format of a provider",
      query: { "provider!": oneOf(...WIRES) },
      gives: ref("Wire"),
    },
  },
  "/api/threads/{id}/diff": {
    get: { summary: "Two calls, message by message", query: { "a!": text, "b!": text }, gives: ref("Diff") },
  },
  "/api/threads/{id}/export": {
    get: { summary: "The thread as a file", query: { format: oneOf("json", "jsonl", "html") }, gives: "*/*" },
  },
  "/api/threads/{id}/ask": {
    post: {
      summary: "Asks. What follows is told by the events of the thread",
      body: {
        "content!": content,
        contextPolicy: object,
        allowedTools: listOf(text),
        next: { ...listOf(content), description: "Asked after it, each when the one before has been answered." },
      },
      status: 202,
      gives: ref("Asked"),
    },
  },
  "/api/threads/{id}/steer": {
    post: {
      summary: "Words for the request at work; 409 where they were not accepted",
      body: { "content!": content, kind: oneOf("steer", "inject", "follow_up"), source: text, requestId: text },
      status: 202,
      gives: ref("Steered"),
    },
  },
  "/api/threads/{id}/cancel": {
    post: {
      summary: "Ends the request at work",
      body: { requestId: text, reason: text },
      gives: ref("Cancelled"),
    },
  },
  "/api/threads/{id}/approve": { post: { summary: "Lets a call run", body: decision, gives: ref("Decided") } },
  "/api/threads/{id}/deny": { post: { summary: "Keeps a call from running", body: decision, gives: ref("Decided") } },
  "/api/threads/{id}/answer": {
    post: {
      summary: "The result of a call that runs outside",
      body: { "toolCallId!": text, "output!": any },
      gives: ref("Decided"),
    },
  },
  "/api/threads/{id}/context": {
    post: {
      summary: "Replaces or switches what is shown; 202 where it waits for the request at work",
      body: { "operation!": object, contextRef: text, opId: text },
      gives: ref("Operated"),
    },
  },
  "/api/threads/{id}/reset": {
    post: { summary: "The model forgets; the thread does not", body: {}, gives: ref("Operated") },
  },
  "/api/threads/{id}/summarize": {
    post: { summary: "Has a summary written", body: { fromSeq: whole, toSeq: whole }, gives: ref("Summarised") },
  },
  "/api/threads/{id}/fork": {
    post: {
      summary: "Another thread with the same past",
      body: { "atSeq!": whole, title: text },
      status: 201,
      gives: ref("ThreadRow"),
    },
  },
};

/**
 * Studio's API as an OpenAPI 3.1 document.
 *
 * @example
 * console.log(openApi()["openapi"]); // 3.1.0
 */
export function openApi(): JsonObject {
  return {
    openapi: "3.1.0",
    info: {
      title: "Heddle Studio",
      version: VERSION,
      description: "Threads, what models saw of them, and agents on them.",
    },
    security: [{}, { bearer: [] }],
    paths: Object.fromEntries(Object.entries(PATHS).map(([path, methods]) => [path, described(path, methods)])),
    components: { schemas: SCHEMAS, securitySchemes: { bearer: { type: "http", scheme: "bearer" } } },
  };
}

function described(path: string, methods: { readonly [method: string]: Described }): JsonObject {
  return Object.fromEntries(
    Object.entries(methods).map(([method, { summary, query = {}, body, status = 200, gives }]) => [
      method,
      {
        operationId: `${method}${path.slice("/api".length).replaceAll(/\W+/g, "_")}`,
        summary,
        parameters: [
          ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => ({
            name,
            in: "path",
            required: true,
            schema: text,
          })),
          ...Object.entries(query).map(([name, schema]) => ({
            name: bare(name),
            in: "query",
            required: isNeeded(name),
            schema,
          })),
        ],
        ...(body !== undefined && { requestBody: { content: { "application/json": { schema: bodyOf(body) } } } }),
        responses: {
          [status]: { description: "Done", content: contentOf(gives) },
          default: { description: "Refused", content: contentOf(ref("Error")) },
        },
      },
    ]),
  );
}

function contentOf(gives: JsonObject | string): JsonObject {
  return typeof gives === "string" ? { [gives]: {} } : { "application/json": { schema: gives } };
}

function bodyOf(body: Fields): JsonObject {
  const properties = Object.fromEntries(Object.entries(body).map(([name, schema]) => [bare(name), schema]));
  const required = Object.keys(body).filter(isNeeded).map(bare);
  return { type: "object", properties, ...(required.length > 0 && { required }) };
}

function isNeeded(name: string): boolean {
  return name.endsWith("!");
}

function bare(name: string): string {
  return name.replace(/!$/, "");
}
