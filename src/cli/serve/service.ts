import { createServer, type Server } from "node:http";
import type { AnyAgent } from "../../agent/definition/config.ts";
import { type ChatHandlerOptions, chatHandler } from "../../runtime/chat/chat-handler.ts";
import { AgentHost } from "../../runtime/host/agent-host.ts";
import type { WorkOptions } from "../../runtime/host/options.ts";
import { handlerOf } from "../../studio/handler.ts";
import { Access, bearerOf } from "../../studio/http/guard.ts";
import { errorResponse, StudioError } from "../../studio/http/response.ts";
import { closing, LIMITS, listener, listening } from "../../studio/start-studio.ts";
import { type LogLine, monitorOf } from "./monitor.ts";

export interface ServiceOptions {
  readonly agents: readonly [AnyAgent, ...AnyAgent[]];
  /** More options of the host, such as `context` and `tools`. */
  readonly hostOptions: Partial<Parameters<typeof AgentHost.create<AnyAgent>>[0]>;
  /** More options of the chat, such as `authorize`. By default the token lets everyone in. */
  readonly chatOptions: Partial<ChatHandlerOptions<AnyAgent>>;
  readonly store: AgentHost["store"];
  readonly label: string;
  readonly token: string;
  readonly port: number;
  readonly host: string;
  /** The limits of the worker, and of all model calls. */
  readonly work: WorkOptions;
  readonly log: (line: LogLine) => void;
}

/** A process of a deploy: the chat, the API, the Studio, probes and metrics on one port, and a worker. */
export interface Service {
  readonly port: number;
  /** Makes a code with which a browser enters the Studio once. */
  readonly mintCode: () => string;
  /** `readyz` is 503 from now on. All else is served until `stop`. */
  readonly drain: () => void;
  /** Requests end with their next step, after at most `graceMs`, and other processes take them. */
  readonly stop: (graceMs: number) => Promise<void>;
}

/** How long the store may take to answer a probe, in milliseconds. */
const PROBE_MS = 2000;

export async function startService(options: ServiceOptions): Promise<Service> {
  const server = createServer(LIMITS);
  const port = await listening(server, options.port, options.host);
  try {
    return await serviceOn(server, port, options);
  } catch (error) {
    await closing(server);
    throw error;
  }
}

async function serviceOn(server: Server, port: number, options: ServiceOptions): Promise<Service> {
  const { agents, store, token, work, log, hostOptions, chatOptions, label } = options;
  const monitor = monitorOf(log);
  const access = new Access(token);
  const warn = (text: string): void => log({ level: "warn", event: "warning", text: text.split("\n")[0] });
  const host = AgentHost.create<AnyAgent>({
    warn,
    onError: (_error, { code, threadId, requestId }) =>
      log({ level: "warn", event: "error", code, threadId, requestId }),
    ...(hostOptions as object), // checked by the host
    agents,
    store,
    telemetry: monitor.telemetry(hostOptions.telemetry),
  });
  const chat = chatHandler<AnyAgent>({
    ask: (_request, { agent }) => (typeof agent === "string" ? { agent } : undefined),
    authorize: (request) => {
      if (!access.isToken(bearerOf(request))) throw unauthorized();
      return true;
    },
    onError: () => log({ level: "error", event: "chat_failed" }),
    ...chatOptions,
    host,
  });
  const failed = (): void => log({ level: "error", event: "studio_failed" }); // its warnings quote errors of any code
  const studio = await handlerOf("heddle serve", { agents, store, label, token, warn: failed }, { host });
  const draining = new AbortController();
  const { signal } = draining;
  host.work({ ...work, signal });

  const ready = async (): Promise<Response> => {
    const why = signal.aborted ? "stopping" : await storeTrouble(store);
    return Response.json({ ready: why === undefined, why }, { status: why === undefined ? 200 : 503 });
  };
  const handle = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url);
    switch (pathname) {
      case "/healthz":
        return Response.json({ alive: true });
      case "/readyz":
        return ready();
      case "/metrics": {
        if (!access.isToken(bearerOf(request))) return errorResponse(unauthorized());
        const gauges = { heddle_live_threads: host.size, heddle_ready: signal.aborted ? 0 : 1 };
        return new Response(monitor.metrics(gauges), { headers: { "content-type": "text/plain; version=0.0.4" } });
      }
      default:
        return pathname === CHAT || pathname.startsWith(`${CHAT}/`) ? chat(request) : studio(request);
    }
  };
  server.on("request", listener(handle, `${options.host}:${port}`));
  log({ level: "info", event: "listening", port, store: label, agents: agents.map(({ name }) => name).join(",") });

  return {
    port,
    mintCode: () => studio.mintCode(),
    drain: () => {
      draining.abort(); // the worker takes no more threads
      log({ level: "info", event: "draining" });
    },
    stop: async (graceMs) => {
      const closed = closing(server);
      await Promise.all([studio.stop(), host.stop({ graceMs })]);
      server.closeAllConnections();
      await closed;
      log({ level: "info", event: "stopped" });
    },
  };
}

const CHAT = "/api/chat";

/** Why the store does not answer, as a code. */
async function storeTrouble(store: AgentHost["store"]): Promise<string | undefined> {
  try {
    await store.list({ limit: 1, signal: AbortSignal.timeout(PROBE_MS) });
    return undefined;
  } catch (error) {
    return (error as { readonly code?: string } | null)?.code ?? "store_failed"; // errors of a store have one
  }
}

function unauthorized(): StudioError {
  const message = "A token is required. Send `Authorization: Bearer <token>`, with the token of HEDDLE_TOKEN.";
  return new StudioError({ code: "unauthorized", status: 401, message });
}
