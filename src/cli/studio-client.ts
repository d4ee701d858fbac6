import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { threadNotFound } from "../stores/errors.ts";
import { memoryStore } from "../stores/memory-store.ts";
import { openStore } from "../stores/open-store.ts";
import type { OnUpgrade } from "../stores/options.ts";
import type { ThreadStore } from "../stores/port.ts";
import { route } from "../studio/http/router.ts";
import { ROUTES } from "../studio/routes/routes.ts";
import { Studio } from "../studio/studio.ts";
import { agentsFor, readersFor } from "./agent.ts";
import type { AGENT_OPTIONS, CLIENT_OPTIONS, CommandCall } from "./command.ts";
import { badUsage, CliError, EXIT, exitOfStatus, type Io } from "./io.ts";

type Query = { readonly [name: string]: string | number | undefined };

/**
 * Gives commands access to threads: in a store that this process opens, or in a running Studio. Both have the same API.
 */
export abstract class StudioClient {
  abstract readonly isServer: boolean;
  /** Whether the threads are lost when this process ends. */
  get isTemporary(): boolean {
    return false;
  }

  async get<Answer>(path: string, query: Query = {}): Promise<Answer> {
    return (await (await this.open(path, query)).json()) as Answer; // the route defines the type of the answer
  }

  /** Sends a POST. `also` lists failure statuses whose body is a normal answer. Default: none. */
  async post<Answer>(path: string, body: object = {}, also: readonly number[] = []): Promise<Answer> {
    const headers = { "content-type": "application/json" };
    const answer = await this.send(path, { method: "POST", headers, body: JSON.stringify(body) }, also);
    return (await answer.json()) as Answer; // the route defines the type of the answer
  }

  /** Sends a GET request, or the method in `init`, and returns the response before its body is read. */
  async open(path: string, query: Query = {}, init: RequestInit = {}): Promise<Response> {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
    return this.send(search.size === 0 ? path : `${path}?${search}`, init);
  }

  abstract send(path: string, init: RequestInit, also?: readonly number[]): Promise<Response>;
  abstract close(): Promise<void>;

  /** Returns the id of a thread. `last` means the thread that changed last. */
  async threadId(given: string): Promise<string> {
    if (given !== "last") return given;
    const { threads } = await this.get<{ threads: readonly { readonly id: string }[] }>("/api/threads", { limit: 1 });
    const [newest] = threads;
    if (newest !== undefined) return newest.id;
    throw threadNotFound("last");
  }
}

export class LocalStudioClient extends StudioClient {
  readonly isServer = false;
  readonly store: ThreadStore;
  readonly studio: Studio;

  constructor(store: ThreadStore, studio: Studio) {
    super();
    this.store = store;
    this.studio = studio;
  }

  override get isTemporary(): boolean {
    return this.studio.label === "memory";
  }

  send(path: string, init: RequestInit): Promise<Response> {
    const url = new URL(path, "http://localhost");
    return route(ROUTES, this.studio, new Request(url, init), url);
  }

  async close(): Promise<void> {
    await this.studio.stop();
    await this.store.close();
  }
}

class RemoteStudioClient extends StudioClient {
  readonly isServer = true;
  /** With the path, if a proxy serves Studio under one. */
  readonly #base: string;
  readonly #token: string | undefined;
  readonly #fetch: typeof fetch;

  constructor(base: URL, token: string | undefined, fetcher: typeof fetch) {
    super();
    this.#token = base.searchParams.get("token") ?? token;
    this.#base = `${base.origin}${base.pathname.replace(/\/+$/, "")}`;
    this.#fetch = fetcher;
  }

  async send(path: string, init: RequestInit, also: readonly number[] = []): Promise<Response> {
    const headers = new Headers(init.headers);
    if (this.#token !== undefined) headers.set("authorization", `Bearer ${this.#token}`);
    const answer = await this.#fetch(`${this.#base}${path}`, { ...init, headers }).catch((cause: unknown) => {
      if (init.signal?.aborted) throw cause;
      const message = `No server answers at ${this.#base}. Start a Studio there (heddle studio), or leave --server out.`;
      throw new CliError({ code: "server_unreachable", exit: EXIT.failed, retryable: true, message, cause });
    });
    if (answer.ok) return answer;
    const body = (await answer.json().catch(() => ({}))) as Refusal; // Studio sends every error in this form
    if (body.error === undefined && also.includes(answer.status)) return Response.json(body);
    throw refusal(answer.status, body);
  }

  async close(): Promise<void> {}
}

interface Refusal {
  readonly error?: { readonly code: string; readonly message: string; readonly retryable?: boolean };
}

/** Makes an error with the server's code and message. */
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

type ClientCall = CommandCall<typeof CLIENT_OPTIONS & Partial<typeof AGENT_OPTIONS>>;

interface ClientNeeds {
  /** Whether to create a missing store. Default: false. */
  readonly createsStore?: boolean;
  /** Whether the command runs the agent. Default: false, it only reads. */
  readonly runsAgent?: boolean;
}

/** Opens a client, runs `work` with it, and always closes it. */
export async function withClient<Result>(
  call: ClientCall,
  wanted: ClientNeeds,
  work: (client: StudioClient) => Promise<Result>,
): Promise<Result> {
  const server = serverClient(call);
  const client = server ?? (await localClient(call, wanted));
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/** Returns a client of the Studio in --server or HEDDLE_SERVER. Undefined if neither is set. */
function serverClient({
  io,
  options,
}: {
  readonly io: Io;
  readonly options: Partial<ClientCall["options"]>;
}): StudioClient | undefined {
  const given = options.server ?? (options.store === undefined ? io.env["HEDDLE_SERVER"] || undefined : undefined);
  if (given === undefined) return undefined;
  if (options.store !== undefined) {
    throw new CliError({ code: "bad_usage", exit: EXIT.usage, message: "Give --store or --server, not both." });
  }
  if (options.agent !== undefined && !options.agent.startsWith("#"))
    throw badUsage("A server has its own agents. Name one of them: --agent '#name'.");
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol)) {
    const message = "--server must be an address such as http://127.0.0.1:4747.";
    throw new CliError({ code: "bad_usage", exit: EXIT.usage, message });
  }
  return new RemoteStudioClient(new URL(given), options.token ?? (io.env["HEDDLE_TOKEN"] || undefined), io.fetch);
}

/** Opens the store in this process and returns a client for it. */
export async function localClient(
  call: ClientCall,
  { createsStore: creates = false, runsAgent: acts = false }: ClientNeeds,
): Promise<LocalStudioClient> {
  const { io, out, options } = call;
  const { store, label } = await openNamedStore(io, options, creates);
  try {
    const agents = await (acts ? agentsFor(io, out, options.agent) : readersFor(io, options.agent));
    const warn = (message: string): void =>
      void out.info(`${out.paintError("yellow", "warning:")} ${firstLine(io, message)}`);
    return new LocalStudioClient(store, new Studio(store, agents, { warn, label, prompts: [] }));
  } catch (error) {
    await store.close();
    throw error;
  }
}

function firstLine({ env }: CommandCall["io"], message: string): string {
  return env["HEDDLE_DEBUG"] ? message : (message.split("\n")[0] ?? "");
}

interface NamedStore {
  readonly store: string | undefined;
  readonly tenant: string | undefined;
}

interface OpenedStore {
  readonly store: ThreadStore;
  /** The kind of store. Unlike the URL, it has no password and can be shown. */
  readonly label: string;
}

/** Opens the store. A missing SQLite file is an error unless `creates` is true. */
export async function openNamedStore(io: Io, wanted: NamedStore, creates: boolean): Promise<OpenedStore> {
  const url = wanted.store ?? (io.env["HEDDLE_STORE"] || "sqlite:./heddle.db");
  const tenant = wanted.tenant ?? (io.env["HEDDLE_TENANT"] || undefined);
  const options = tenant === undefined ? {} : { tenant };
  const durable = { ...options, onUpgrade: upgradeReport(io) };
  const [scheme = ""] = url.split(":", 1);
  const rest = url.slice(scheme.length + 1);
  switch (url.includes(":") ? scheme : "") {
    case "memory":
      return { store: memoryStore(options), label: "memory" };
    case "sqlite":
    case "file": {
      if (rest === "") break;
      const path = resolve(io.cwd, rest.replace(/^\/\/(?=\/)/, ""));
      if (!creates && !existsSync(path)) throw missingStore(rest);
      return { store: await openStore(`sqlite:${path}`, durable), label: "sqlite" };
    }
    case "postgres":
    case "postgresql":
      return { store: await openStore(url, durable), label: "postgres" };
    default:
  }
  return { store: await openStore(url), label: "" }; // for an invalid URL, `openStore` throws an error that shows valid ones
}

/** Writes the progress of an upgrade, one line for each ten percent, because an upgrade of a large database takes minutes. */
function upgradeReport(io: Io): OnUpgrade {
  let next = 0;
  return ({ to, entries, done, steps }) => {
    const percent = Math.floor((100 * done) / steps);
    if (percent < next) return;
    next = percent - (percent % 10) + 10;
    void io.stderr.write(`Upgrading the database to schema ${to}: ${entries} entries, ${percent} %\n`).catch(() => {});
  };
}

function missingStore(path: string): CliError {
  const message =
    `There is no store at ${path}. Create one with heddle ask "What is 6 * 7?" or heddle studio, or name an existing one ` +
    "with --store or HEDDLE_STORE.";
  return new CliError({ code: "store_missing", exit: EXIT.notFound, message });
}
