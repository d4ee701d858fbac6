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

/** Where the threads are: in a store that this process opens, or in a running Studio. Both have the same API. */
export abstract class Place {
  abstract readonly isServer: boolean;
  /** Whether the threads are lost when this process ends. */
  get isForgetful(): boolean {
    return false;
  }

  async get<Answer>(path: string, query: Query = {}): Promise<Answer> {
    return (await (await this.open(path, query)).json()) as Answer; // the route defines the type of the answer
  }

  /** `also` lists failure statuses whose body is an answer and no error. Default: none. */
  async post<Answer>(path: string, body: object = {}, also: readonly number[] = []): Promise<Answer> {
    const headers = { "content-type": "application/json" };
    const answer = await this.send(path, { method: "POST", headers, body: JSON.stringify(body) }, also);
    return (await answer.json()) as Answer; // the route defines the type of the answer
  }

  /** Sends a GET, or what `init` says, and returns the response unread. */
  async open(path: string, query: Query = {}, init: RequestInit = {}): Promise<Response> {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
    return this.send(search.size === 0 ? path : `${path}?${search}`, init);
  }

  abstract send(path: string, init: RequestInit, also?: readonly number[]): Promise<Response>;
  abstract close(): Promise<void>;

  /** The id of a thread; `last` means the thread that changed last. */
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
      const message = `No server answers at ${this.#base.origin}. Start a Studio there (heddle studio), or leave --server out.`;
      throw new CliError({ code: "server_unreachable", exit: EXIT.failed, retryable: true, message, cause });
    });
    if (answer.ok) return answer;
    const body = (await answer.json().catch(() => ({}))) as Refusal; // every error of Studio has this form
    if (body.error === undefined && also.includes(answer.status)) return Response.json(body);
    throw refusal(answer.status, body);
  }

  async close(): Promise<void> {}
}

interface Refusal {
  readonly error?: { readonly code: string; readonly message: string; readonly retryable?: boolean };
}

/** An error with the server's own code and message. */
function refusal(status: number, { error }: Refusal): CliError {
  const {
    code,
    message,
    retryable = false,
  } = error ?? {
    code: "server_unreachable",
    message: `The server at this address is no Studio: it answered ${status}. Check --server.`,
  };
  return new CliError({ code, message, retryable, exit: exitOfStatus(status) });
}

type Placed = Call<typeof PLACE & Partial<typeof AGENT>>;

interface Wanted {
  /** Whether to create a missing store. Default: false. */
  readonly creates?: boolean;
  /** Whether the command runs the agent. Default: false, it only reads. */
  readonly acts?: boolean;
}

/** Opens the place of the threads, runs `work`, and always closes the place. */
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

/** The Studio that --server or HEDDLE_SERVER names; undefined if neither does. */
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

/** Opens the store in this process. */
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
