import type { JsonValue } from "heddle";
import type { CallDetail, CallRow, EntryWindow, Info, ThreadDetail, ThreadPage, ThreadRow } from "./contract.ts";
import { type Actions, Refusal, type Source } from "./source.ts";
import { listen } from "./stream.ts";

async function request<T>(method: string, path: string, body?: unknown): Promise<T> {
  let response: Response;
  try {
    response = await fetch(`/api${path}`, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
  } catch {
    throw new Refusal("server_unreachable", "The Studio's server does not answer. Is it still running?", 0);
  }
  const text = await response.text();
  const answer: unknown = text === "" ? undefined : parsed(text);
  // A steer that comes too late is an answer, though a 409.
  if (response.ok || isVerdict(answer)) return answer as T; // the contract says so
  const { error } = (answer ?? {}) as { readonly error?: { readonly code?: string; readonly message?: string } };
  throw new Refusal(
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

const get = <T>(path: string) => request<T>("GET", path);
const post = <T>(path: string, body: object = {}) => request<T>("POST", path, body);

function query(fields: { readonly [name: string]: string | number | undefined }): string {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== "");
  return given.length === 0 ? "" : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

const of = (id: string, rest = "") => `/threads/${encodeURIComponent(id)}${rest}`;

const act: Actions = {
  create: (title) => post<ThreadRow>("/threads", title === undefined ? {} : { title }),
  ask: (id, content) => post(of(id, "/ask"), { content }),
  steer: (id, content, kind) => post(of(id, "/steer"), { content, kind }),
  cancel: (id) => post(of(id, "/cancel")),
  decide: (id, toolCallId, approved) => post(of(id, approved ? "/approve" : "/deny"), { toolCallId }),
  answer: (id, toolCallId, output: JsonValue) => post(of(id, "/answer"), { toolCallId, output }),
  reset: (id) => post(of(id, "/reset")),
  summarize: (id, range = {}) => post(of(id, "/summarize"), range),
  context: (id, contextRef, operation) =>
    post(of(id, "/context"), { contextRef, opId: crypto.randomUUID(), operation }),
  fork: (id, atSeq) => post<ThreadRow>(of(id, "/fork"), { atSeq }),
  remove: (id) => request("DELETE", of(id)),
};

/** The server that served this page. */
export function httpSource({ readOnly }: { readonly readOnly: boolean }): Source {
  return {
    kind: "server",
    info: () => get<Info>("/info"),
    threads: (asked) => get<ThreadPage>(`/threads${query({ ...asked })}`),
    thread: (id) => get<ThreadDetail>(of(id)),
    entries: (id, from, to) => get<EntryWindow>(of(id, `/entries${query({ from, to })}`)),
    view: (id, wish) => post(of(id, "/view"), wish),
    calls: async (id, page) => (await get<{ calls: CallRow[] }>(of(id, `/calls${query(page)}`))).calls,
    call: (id, callId) => get<CallDetail>(of(id, `/calls/${encodeURIComponent(callId)}`)),
    listen: (id, listening) => listen(id === undefined ? "/api/events" : `/api${of(id, "/events")}`, listening),
    exportUrl: (id, format) => `/api${of(id, `/export${query({ format })}`)}`,
    act: readOnly ? undefined : act,
  };
}
