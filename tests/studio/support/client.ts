import type { JsonObject } from "heddle";
import { memoryStore } from "heddle";
import { demoAgent, type StartOptions, startStudio } from "heddle/studio";
import { onTestFinished } from "vitest";
import { openApi } from "../../../src/studio/openapi.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
export type Body = any;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

/** A Studio on a free port, stopped with the test; the demo answers at once. */
export async function started(options: StartOptions = {}) {
  const { store = memoryStore(), agents, agent = agents ? undefined : demoAgent({ wordMs: 0 }), ...others } = options;
  const studio = await startStudio({ store, agent, agents, port: 0, ui: "/nowhere", warn: () => undefined, ...others });
  onTestFinished(() => studio.stop({ graceMs: 0 }));
  return { store, studio, api: clientOf(studio) };
}

/** The token of Studios in processes of their own. */
const TOKEN = "a-token-of-the-tests";

export function clientOf({ url, token = TOKEN }: { readonly url: string; readonly token?: string }) {
  const { origin } = new URL(url);
  const headers = { authorization: `Bearer ${token}` };
  const send = async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const text = typeof body === "string" || body === undefined ? body : JSON.stringify(body);
    const response = await fetch(`${origin}/api${path}`, {
      method,
      headers: { ...headers, ...(method === "POST" && { "content-type": "application/json" }) },
      ...(text !== undefined && { body: text }),
    });
    const isJson =
      response.headers.get("content-type")?.startsWith("application/json") === true &&
      !headersSay(response, "attachment");
    const raw = await response.text();
    const answer = { status: response.status, headers: response.headers, body: isJson ? JSON.parse(raw) : raw };
    conforms(method, path, answer);
    return answer;
  };
  const api = {
    origin,
    headers,
    get: (path: string) => send("GET", path),
    post: (path: string, body: unknown = {}) => send("POST", path, body),
    delete: (path: string) => send("DELETE", path),
    events: (path: string, lastEventId?: string) => listen(`${origin}/api${path}`, headers, lastEventId),
    newThread: async (title?: string): Promise<string> => (await api.post("/threads", { title })).body.id,
    /** Asks and waits for the end; answers the entries. */
    asked: async (id: string, content: string, more: JsonObject = {}) => {
      const events = await api.events(`/threads/${id}/events`);
      const { body } = await api.post(`/threads/${id}/ask`, { content, ...more });
      await events.until(
        ({ event, data }) => event === "agent" && data.requestId === body.requestId && isEnd(data.kind),
      );
      await events.until(({ event, data }) => event === "thread" && data.live === false && data.status !== "running");
      events.close();
      return (await api.get(`/threads/${id}/entries?last=1000`)).body.entries as Body[];
    },
  };
  return api;
}

function headersSay({ headers }: Response, word: string): boolean {
  return headers.get("content-disposition")?.includes(word) === true;
}

export function isEnd(kind: string): boolean {
  return /^request_(completed|failed|cancelled)$/.test(kind);
}

export interface Told {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: Body;
}

/** A reader of server-sent events, which reads no faster than it is asked to. */
async function listen(url: string, headers: { readonly [name: string]: string }, lastEventId?: string) {
  const gone = new AbortController();
  onTestFinished(() => gone.abort());
  const resumed = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
  const response = await fetch(url, { headers: { ...headers, ...resumed }, signal: gone.signal });
  const told: Told[] = [];
  const messages = messagesOf(response);
  const next = async (): Promise<Told | undefined> => {
    const { value } = await messages.next();
    if (value !== undefined) told.push(value);
    return value;
  };
  return {
    status: response.status,
    told,
    next,
    /** The next message that is so. */
    until: async (is: (message: Told) => boolean): Promise<Told> => {
      for (;;) {
        const message = await next();
        if (message === undefined) throw new Error("The stream has ended.");
        if (is(message)) return message;
      }
    },
    close: () => gone.abort(),
  };
}

async function* messagesOf(response: Response): AsyncGenerator<Told, undefined> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const message = messageOf(text.slice(0, end));
      text = text.slice(end + 2);
      if (message !== undefined) yield message;
    }
  }
  return undefined;
}

function messageOf(block: string): Told | undefined {
  const field = (name: string): string | undefined => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1];
  const [event, data] = [field("event"), field("data")];
  return event === undefined || data === undefined ? undefined : { event, id: field("id"), data: JSON.parse(data) };
}

const document = openApi() as Body;

/** Every answer of every test is held against the document. */
function conforms(method: string, path: string, { status, body }: Answer): void {
  const pattern = Object.keys(document.paths).find((one) => matches(one, `/api${path.split("?")[0]}`));
  const operation = pattern && document.paths[pattern][method.toLowerCase()];
  const described = operation?.responses[status] ?? document.paths["/api/info"].get.responses.default;
  const schema = described.content["application/json"]?.schema;
  if (schema === undefined || (status === 409 && body.accepted === false)) return;
  const trouble = troubleIn(schema, body, "answer");
  if (trouble !== undefined) throw new Error(`${method} ${path} ${status}: ${trouble}`);
}

function matches(pattern: string, path: string): boolean {
  return new RegExp(`^${pattern.replaceAll(/\{\w+\}/g, "[^/]+").replaceAll(".", "\\.")}$`).test(path);
}

/** As much of JSON Schema as the document uses. */
function troubleIn(given: Body, value: Body, at: string): string | undefined {
  const schema = given.$ref === undefined ? given : document.components.schemas[given.$ref.split("/").at(-1)];
  const type = Array.isArray(value) ? "array" : Number.isInteger(value) ? "integer" : typeof value;
  if (schema.type !== undefined && schema.type !== type) return `${at} is ${type}, not ${schema.type}`;
  if (schema.enum !== undefined && !schema.enum.includes(value)) return `${at} is none of ${schema.enum}`;
  const missing = (schema.required ?? []).find((name: string) => value[name] === undefined);
  if (missing !== undefined) return `${at}.${missing} is missing`;
  const unknown = schema.properties && Object.keys(value).find((name) => schema.properties[name] === undefined);
  if (unknown !== undefined) return `${at}.${unknown} is not described`;
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    const trouble = value[name] === undefined ? undefined : troubleIn(inner, value[name], `${at}.${name}`);
    if (trouble !== undefined) return trouble;
  }
  return (
    schema.items &&
    value.map((item: Body, index: number) => troubleIn(schema.items, item, `${at}[${index}]`)).find(Boolean)
  );
}
