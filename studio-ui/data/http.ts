import { type JsonValue, Thread } from "heddle";
import { authorization } from "./access.ts";
import type { ResponseBodies } from "./contract.ts";
import { type Actions, ApiError, type Source } from "./source.ts";
import { listen } from "./stream.ts";

interface Given {
  readonly query?: { readonly [name: string]: string | number | undefined };
  readonly json?: object;
  /** A body that is sent as it is. Other bodies are sent as JSON. */
  readonly body?: Blob;
}

/** Calls a route of the server. `params` replace the braces in its path, in order. */
async function ask<Name extends keyof ResponseBodies>(
  name: Name,
  params: readonly string[] = [],
  { query = {}, json = {}, body }: Given = {},
): Promise<ResponseBodies[Name]> {
  const [method = "", path = ""] = name.split(" ");
  const isPost = method === "POST";
  const type = body === undefined ? "application/json" : "application/octet-stream";
  let response: Response;
  try {
    response = await fetch(`${filled(path, params)}${written(query)}`, {
      method,
      ...(isPost && { body: body ?? JSON.stringify(json) }),
      headers: { ...authorization(), ...(isPost && { "content-type": type }) },
    });
  } catch {
    throw new ApiError("server_unreachable", "The Studio's server does not answer. Check that it is running.", 0);
  }
  const text = await response.text();
  const answer: unknown = text === "" ? undefined : parsed(text);
  // A steer that is not accepted has status 409. Its body is a normal answer, not an error.
  if (response.ok || isVerdict(answer)) return answer as ResponseBodies[Name]; // the type of the route's answer is in `ResponseBodies`
  const { error } = (answer ?? {}) as { readonly error?: { readonly code?: string; readonly message?: string } };
  throw new ApiError(
    error?.code ?? "http_error",
    error?.message ?? `The server answered ${response.status}.`,
    response.status,
  );
}

const isVerdict = (answer: unknown) => typeof answer === "object" && answer !== null && "accepted" in answer;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function filled(path: string, params: readonly string[]): string {
  const left = [...params];
  return path.replaceAll(/\{\w+\}/g, () => encodeURIComponent(left.shift() ?? ""));
}

function written(query: NonNullable<Given["query"]>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  return given.length === 0 ? "" : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

const act: Actions = {
  create: (title) => ask("POST /api/threads", [], { json: title === undefined ? {} : { title } }),
  import: (file, format) => ask("POST /api/import", [], { body: file, query: { format } }),
  ask: (id, content) => ask("POST /api/threads/{id}/ask", [id], { json: { content } }),
  turn: (id, turn) => ask("POST /api/threads/{id}/ask", [id], { json: turn }),
  steer: (id, content, kind) => ask("POST /api/threads/{id}/steer", [id], { json: { content, kind } }),
  cancel: (id) => ask("POST /api/threads/{id}/cancel", [id], { json: {} }),
  decide: (id, toolCallId, approved, reason) =>
    ask(`POST /api/threads/{id}/${approved ? "approve" : "deny"}`, [id], {
      json: { toolCallId, by: "studio", ...(reason !== "" && { reason }) },
    }),
  answer: (id, toolCallId, output: JsonValue) =>
    ask("POST /api/threads/{id}/answer", [id], { json: { toolCallId, output } }),
  reset: (id) => ask("POST /api/threads/{id}/reset", [id], { json: {} }),
  summarize: (id, range = {}) => ask("POST /api/threads/{id}/summarize", [id], { json: range }),
  context: (id, contextRef, operation) =>
    ask("POST /api/threads/{id}/context", [id], { json: { contextRef, operation } }),
  fork: (id, atSeq) => ask("POST /api/threads/{id}/fork", [id], { json: { atSeq } }),
  remove: (id) => ask("DELETE /api/threads/{id}", [id]),
};

/** Reads and changes threads through the server of this page. */
export function httpSource({ readOnly }: { readonly readOnly: boolean }): Source {
  return {
    kind: "server",
    info: () => ask("GET /api/info"),
    threads: (query) => ask("GET /api/threads", [], { query: { ...query } }),
    thread: (id) => ask("GET /api/threads/{id}", [id]),
    entries: (id, from, to) => ask("GET /api/threads/{id}/entries", [id], { query: { from, to } }),
    filtered: (id, { kinds, ...wish }) =>
      ask("GET /api/threads/{id}/entries", [id], { query: { ...wish, kinds: kinds.join() } }),
    tail: async (id, wish) => Thread.fromJSON(await ask("GET /api/threads/{id}/tail", [id], { query: { ...wish } })),
    calls: (id, page) => ask("GET /api/threads/{id}/calls", [id], { query: { ...page } }),
    call: (id, callId) => ask("GET /api/threads/{id}/calls/{callId}", [id, callId]),
    listen,
    // The browser itself downloads the file and cannot send the token header. So the address has a one-time code.
    download: async (id, format) => {
      const { code } = await ask("POST /api/codes");
      const link = document.createElement("a");
      link.href = `${filled("/api/threads/{id}/export", [id])}${written({ format, code })}`;
      link.download = "";
      link.click();
    },
    act: readOnly ? undefined : act,
  };
}
