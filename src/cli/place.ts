import type { AnyAgent } from "../agent/definition/agent.ts";
import { threadNotFound } from "../stores/errors.ts";
import type { ThreadStore } from "../stores/port.ts";
import { routed } from "../studio/http/router.ts";
import { ROUTES } from "../studio/routes.ts";
import { Studio } from "../studio/studio.ts";
import { agentFor, readerFor } from "./agent.ts";
import type { Call } from "./command.ts";
import { CliError, EXIT, exitOfStatus } from "./exit.ts";
import type { Io } from "./io.ts";
import { openNamed } from "./open-store.ts";
import type { AGENT, PLACE } from "./options.ts";

type Query = { readonly [name: string]: string | number | undefined };

/** Where threads are: a store of this process or a Studio elsewhere. Both answer by the same API. */
export abstract class Place {
  abstract readonly isServer: boolean;
  /** Whether all of it is gone when this process ends. */
  get isForgetful(): boolean {
    return false;
  }

  async get<Answer>(path: string, query: Query = {}): Promise<Answer> {
    return (await (await this.open(path, query)).json()) as Answer; // the route says what it answers
  }

  /** `also` are statuses that are answers too. */
  async post<Answer>(path: string, body: object = {}, also: readonly number[] = []): Promise<Answer> {
    const headers = { "content-type": "application/json" };
    const answer = await this.send(path, { method: "POST", headers, body: JSON.stringify(body) }, also);
    return (await answer.json()) as Answer; // the route says what it answers
  }

  /** An answer as it comes. */
  async open(path: string, query: Query = {}, init: RequestInit = {}): Promise<Response> {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
    return this.send(search.size === 0 ? path : `${path}?${search}`, init);
  }

  abstract send(path: string, init: RequestInit, also?: readonly number[]): Promise<Response>;
  abstract close(): Promise<void>;

  /** The id of the thread that was meant; `last` is the one that changed last. */
  async threadId(given: string): Promise<string> {
    if (given !== "last") return given;
    const { threads } = await this.get<{ threads: readonly { readonly id: string }[] }>("/api/threads", { limit: 1 });
    const [newest] = threads;
    if (newest !== undefined) return newest.id;
    throw threadNotFound("last");
  }
}

export class LocalPlace extends Place {
  readonly isServer = false;
  readonly store: ThreadStore;
  readonly studio: Studio;

  constructor(store: ThreadStore, studio: Studio) {
    super();
    this.store = store;
    this.studio = studio;
  }

  override get isForgetful(): boolean {
    return this.studio.label === "memory";
  }

  send(path: string, init: RequestInit): Promise<Response> {
    const url = new URL(path, "http://localhost");
    return routed(ROUTES, this.studio, new Request(url, init), url);
  }

  async close(): Promise<void> {
    await this.studio.stop();
    await this.store.close();
  }
}

class ServerPlace extends Place {
  readonly isServer = true;
  readonly #base: URL;
  readonly #token: string | undefined;
  readonly #fetch: typeof fetch;

  constructor(base: URL, token: string | undefined, fetcher: typeof fetch) {
    super();
    this.#token = base.searchParams.get("token") ?? token;
    this.#base = new URL(base.origin);
    this.#fetch = fetcher;
  }

  async send(path: string, init: RequestInit, also: readonly number[] = []): Promise<Response> {
    const headers = new Headers(init.headers);
    if (this.#token !== undefined) headers.set("authorization", `Bearer ${this.#token}`);
    const answer = await this.#fetch(new URL(path, this.#base), { ...init, headers }).catch((cause: unknown) => {
      if (init.signal?.aborted) throw cause;
      const message = `Nobody answers at ${this.#base.origin}. Start a Studio there (heddle studio), or leave --server out.`;
      throw new CliError({ code: "server_unreachable", exit: EXIT.failed, retryable: true, message, cause });
    });
    if (answer.ok) return answer;
    const told = (await answer.json().catch(() => ({}))) as Refusal; // as every refusal of Studio
    if (told.error === undefined && also.includes(answer.status)) return Response.json(told);
    throw refusal(answer.status, told);
  }

  async close(): Promise<void> {}
}

interface Refusal {
  readonly error?: { readonly code: string; readonly message: string; readonly retryable?: boolean };
}

/** What a server refuses is told in its own words. */
function refusal(status: number, { error }: Refusal): CliError {
  const {
    code,
    message,
    retryable = false,
  } = error ?? {
    code: "server_unreachable",
    message: `What answers there is no Studio: it said ${status}.`,
  };
  return new CliError({ code, message, retryable, exit: exitOfStatus(status) });
}

type Placed = Call<typeof PLACE & Partial<typeof AGENT>>;

interface Wanted {
  /** Makes the store where there is none. */
  readonly creates?: boolean;
  /** Has an agent that answers; without one it is only looked. */
  readonly acts?: boolean;
}

/** Does something where the threads are, and lets go of them, however it ends. */
export async function at<Result>(
  call: Placed,
  wanted: Wanted,
  work: (place: Place) => Promise<Result>,
): Promise<Result> {
  const server = serverOf(call);
  const place = server ?? (await localPlace(call, wanted));
  try {
    return await work(place);
  } finally {
    await place.close();
  }
}

/** A Studio that was named. */
export function serverOf({
  io,
  options,
}: {
  readonly io: Io;
  readonly options: Partial<Placed["options"]>;
}): Place | undefined {
  const given = options.server ?? (options.store === undefined ? io.env["HEDDLE_SERVER"] || undefined : undefined);
  if (given === undefined) return undefined;
  if (options.store !== undefined) {
    throw new CliError({ code: "bad_usage", exit: EXIT.usage, message: "Give --store or --server, not both." });
  }
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol)) {
    const message = "--server must be an address such as http://127.0.0.1:4747.";
    throw new CliError({ code: "bad_usage", exit: EXIT.usage, message });
  }
  return new ServerPlace(new URL(given), options.token ?? (io.env["HEDDLE_TOKEN"] || undefined), io.fetch);
}

/** A store of this process. */
export async function localPlace(call: Placed, { creates = false, acts = false }: Wanted): Promise<LocalPlace> {
  const { io, out, options } = call;
  const { store, label } = await openNamed(io, options, creates);
  try {
    const agent: AnyAgent = acts ? await agentFor(io, out, options.agent) : await readerFor(io, options.agent);
    const warn = (message: string): void => void out.say(`${out.talk("yellow", "warning:")} ${firstLine(io, message)}`);
    return new LocalPlace(store, new Studio(store, agent, { warn, label, prompts: [] }));
  } catch (error) {
    await store.close();
    throw error;
  }
}

function firstLine({ env }: Call["io"], message: string): string {
  return env["HEDDLE_DEBUG"] ? message : (message.split("\n")[0] ?? "");
}
