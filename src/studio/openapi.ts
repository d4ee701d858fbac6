import type { JsonObject } from "../thread/json.ts";
import { ENTRY_CATEGORIES } from "./entry-filter.ts";
import { SCHEMAS } from "./openapi-schemas.ts";
import { WIRES } from "./routes/calls.ts";
import { VERSION } from "./version.ts";

type Fields = { readonly [name: string]: JsonObject };

interface Described {
  readonly summary: string;
  readonly query?: Fields;
  /** Fields of the body. A name that ends in `!` is required. */
  readonly body?: Fields;
  readonly status?: 200 | 201 | 202;
  /** The response: a schema, or a media type if it is not JSON. */
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
const time: JsonObject = { type: "string", description: "Milliseconds since 1970, or an ISO 8601 date." };
const remember: JsonObject = { type: "object", description: "A rule for later calls: { tool, pattern, scope }." };
const decision = { "toolCallId!": text, by: text, reason: text, remember };
const EVENTS = "text/event-stream";

const PATHS: { readonly [path: string]: { readonly [method: string]: Described } } = {
  "/api/info": { get: { summary: "Name, agent, tools and limits of this Studio", gives: ref("Info") } },
  "/api/openapi.json": { get: { summary: "This document", gives: object } },
  "/api/enter": {
    post: {
      summary: "Exchanges the code of a one-time address for the token",
      body: { "code!": text },
      gives: ref("Entered"),
    },
  },
  "/api/codes": {
    post: {
      summary: "Makes a code that works once, as `?code=` of an export",
      body: {},
      status: 201,
      gives: ref("MintedCode"),
    },
  },
  "/api/events": {
    get: {
      summary:
        "Events of the thread list: `ready`, `thread`, `deleted`. With `threads` also the events of these threads, tagged with " +
        "`threadId`. Last-Event-ID resumes after a lost connection",
      query: { threads: { ...text, description: "Ids of threads, separated by commas." } },
      gives: EVENTS,
    },
  },
  "/api/threads": {
    get: {
      summary:
        "Lists threads, newest first. A long `search` answers what it has found so far; its `cursor` continues it",
      query: {
        search: text,
        status: oneOf("running", "waiting", "completed", "failed", "cancelled"),
        agent: text,
        since: time,
        until: time,
        order: oneOf("updated", "created"),
        limit: whole,
        cursor: text,
      },
      gives: ref("ThreadPage"),
    },
    post: {
      summary: "Creates a thread. `agent` is one of the Studio, by default its first",
      body: { title: text, agent: text },
      status: 201,
      gives: ref("ThreadRow"),
    },
  },
  "/api/import": {
    post: {
      summary: "Imports an export (JSON or JSONL) or a list of messages as a new thread",
      query: { format: oneOf("json", "jsonl", "neutral", "openai-chat", "anthropic", "model-messages", "ui-messages") },
      body: {},
      status: 201,
      gives: ref("ThreadRow"),
    },
  },
  "/api/threads/{id}": {
    get: { summary: "A thread: its lanes, its open request, its forks", gives: ref("ThreadDetail") },
    delete: { summary: "Removes a thread", gives: ref("Deleted") },
  },
  "/api/threads/{id}/entries": {
    get: {
      summary:
        "A window of entries: by `from` and `to`, the `last` ones, or `around` one. With `kinds` or `lane`, a search: " +
        "forward from `from`, else back from `to`, with a time limit",
      query: {
        ...{ from: whole, to: whole, last: whole, around: whole, limit: whole, lane: text },
        kinds: {
          ...text,
          description: `Separated by commas: kinds of entries, or ${ENTRY_CATEGORIES.join(", ")}.`,
        },
      },
      gives: ref("EntryWindow"),
    },
  },
  "/api/threads/{id}/tail": {
    get: {
      summary: "The end of a thread at an entry, for Thread.fromJSON: enough to project it elsewhere",
      query: { atSeq: whole, last: whole },
      gives: ref("Tail"),
    },
  },
  "/api/threads/{id}/events": {
    get: {
      summary: "Events of a thread: `thread`, `entry` (Last-Event-ID resumes after its id), `agent` of a live request",
      query: { from: { ...whole, description: "The first entry to send. Default: the next new one." } },
      gives: EVENTS,
    },
  },
  "/api/threads/{id}/view": {
    post: {
      summary: "The context that a model would get",
      body: { atSeq: whole, lane: text, policy: object, system: text, tools: listOf(object), model: text },
      gives: ref("View"),
    },
  },
  "/api/threads/{id}/calls": {
    get: {
      summary: "Lists model calls, newest first",
      query: { before: whole, limit: whole },
      gives: ref("CallPage"),
    },
  },
  "/api/threads/{id}/calls/{callId}": {
    get: {
      summary: "One call as it was sent, rebuilt and verified, and its changes since the call before",
      query: { seq: { ...whole, description: "The entry of the call, if known. It saves a search." } },
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
    get: { summary: "Compares two calls, message by message", query: { "a!": text, "b!": text }, gives: ref("Diff") },
  },
  "/api/threads/{id}/export": {
    get: { summary: "The thread as a file", query: { format: oneOf("json", "jsonl", "html") }, gives: "*/*" },
  },
  "/api/threads/{id}/ask": {
    post: {
      summary: "Asks. The events of the thread report the answer",
      body: {
        content: { ...content, description: "Text, or parts of a message. Required without `regenerate`." },
        contextPolicy: object,
        allowedTools: listOf(text),
        agent: { ...text, description: "The agent of a new thread. One of a thread that has another is refused." },
        requestId: {
          ...text,
          description: "The id of the request. With it, an ask that waits for its turn is cancelled.",
        },
        edit: { ...text, description: "The id of a message of the user, which `content` replaces on a new branch." },
        regenerate: { ...text, description: "The id of an answer, which is given once more on a new branch." },
        busy: { ...oneOf("deny", "cancel"), description: "The effect on a request that waits, or is open." },
        messageId: { ...text, description: "The id of the message: it is asked once." },
        next: { ...listOf(content), description: "Asked next, each after the answer to the one before." },
      },
      status: 202,
      gives: ref("Asked"),
    },
  },
  "/api/threads/{id}/steer": {
    post: {
      summary: "Sends text to the running request; 409 if it is not accepted",
      body: { "content!": content, kind: oneOf("steer", "inject", "follow_up"), source: text, requestId: text },
      status: 202,
      gives: ref("Steered"),
    },
  },
  "/api/threads/{id}/cancel": {
    post: {
      summary: "Cancels the running request",
      body: { requestId: text, reason: text },
      gives: ref("Cancelled"),
    },
  },
  "/api/threads/{id}/approve": {
    post: {
      summary: "Approves a tool call that waits for approval",
      body: { ...decision, arguments: any },
      gives: ref("Decided"),
    },
  },
  "/api/threads/{id}/deny": {
    post: { summary: "Refuses a tool call that waits for approval", body: decision, gives: ref("Decided") },
  },
  "/api/threads/{id}/answer": {
    post: {
      summary: "Gives the result of a tool call that runs outside",
      body: { "toolCallId!": text, "output!": any },
      gives: ref("Decided"),
    },
  },
  "/api/threads/{id}/context": {
    post: {
      summary: "Replaces the context or switches the lane; 202 if it waits for the end of the running request",
      body: { "operation!": object, contextRef: text, opId: text },
      gives: ref("Operated"),
    },
  },
  "/api/threads/{id}/reset": {
    post: {
      summary: "Clears the context of the model; the thread keeps its entries",
      body: {},
      gives: ref("Operated"),
    },
  },
  "/api/threads/{id}/summarize": {
    post: {
      summary: "Summarizes a range of entries",
      body: { fromSeq: whole, toSeq: whole },
      gives: ref("SummaryResult"),
    },
  },
  "/api/threads/{id}/fork": {
    post: {
      summary: "Makes a new thread with the same history",
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
      description: "Threads, the contexts of their model calls, and the agents that run on them.",
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
