import type { AnyAgent } from "../agent/definition/config.ts";
import type { AgentHost } from "../runtime/host/agent-host.ts";
import { openStore } from "../stores/open-store.ts";
import type { ThreadStore } from "../stores/port.ts";
import { Access, type GuardOptions, guard } from "./http/guard.ts";
import { errorResponse, StudioError } from "./http/response.ts";
import { route } from "./http/router.ts";
import { agentsIn, checkContext, checkStudioOptions, type StudioOptions } from "./options.ts";
import { Page } from "./page.ts";
import { ROUTES } from "./routes/routes.ts";
import { Studio } from "./studio.ts";

/** A request handler with its control methods. `stop` ends its event streams and releases its threads. */
export interface StudioHandler {
  (request: Request): Promise<Response>;
  /** Resumes the requests that a crash interrupted. `startStudio` does this itself. */
  resumeInterrupted(holder?: string): Promise<void>;
  /** Makes a one-time code for the URL hash `#/enter/<code>`. Returns "" if no token is required. */
  mintCode(): string;
  stop(options?: { readonly graceMs?: number | undefined }): Promise<void>;
}

/** The server around a Studio. */
interface Mounted {
  /** Returns the allowed host names. It is a function, because the port is known only after Studio listens. */
  readonly hosts?: (() => readonly string[] | undefined) | undefined;
  /** Runs the agents, in place of a host of the Studio. */
  readonly host?: AgentHost;
}

/**
 * Studio as a request handler for your own server. The API is under `/api`, the page under all other paths. Mount it at
 * the root of a host name. Set a token, or make sure that other people cannot call it.
 * @example
 * const studio = await studioHandler({ store: memoryStore() });
 * const response = await studio(new Request("http://localhost/api/info"));
 * console.log(response.status); // 200
 * await studio.stop();
 */
export async function studioHandler<Agent extends AnyAgent = AnyAgent>(
  options?: StudioOptions<Agent>,
): Promise<StudioHandler> {
  return handlerOf("studioHandler", (options ?? {}) as StudioOptions); // the context is of the agent
}

/** The same for `startStudio`, which knows its hosts only after it listens. */
export async function handlerOf(what: string, options: StudioOptions, mounted: Mounted = {}): Promise<StudioHandler> {
  checkStudioOptions(what, options);
  const { store: given, url = "sqlite:./heddle.db", token, ui } = options;
  if (token !== undefined && !/^[\w.~+/=-]{8,}$/.test(token)) {
    const message = "token must have at least 8 characters: letters, digits, and . _ ~ + / = -";
    throw new StudioError({ code: "invalid_options", status: 400, message });
  }
  const { importLimit } = options;
  if (importLimit !== undefined && !(Number.isSafeInteger(importLimit) && importLimit > 0)) {
    const message = "importLimit must be a whole number of bytes above 0.";
    throw new StudioError({ code: "invalid_options", status: 400, message });
  }
  const agents = agentsIn(options);
  for (const agent of agents) checkContext(what, agent, options);
  const store = given ?? (await openStore(url));
  const access = token === undefined ? undefined : new Access(token);
  const page = ui === false ? undefined : new Page(ui);
  const studio = new Studio(
    store,
    agents,
    { ...options, ...(given === undefined && { url }) },
    page,
    access,
    mounted.host,
  );
  const guards = (): GuardOptions => ({ access, hosts: mounted.hosts?.() ?? options.hosts });
  const handle = (request: Request): Promise<Response> => answered(studio, page, request, guards());
  return Object.assign(handle, {
    mintCode: () => access?.mintCode() ?? "",
    resumeInterrupted: (holder?: string) => studio.resumeInterrupted(holder),
    stop: ({ graceMs }: { readonly graceMs?: number | undefined } = {}) =>
      stop(studio, given === undefined ? store : undefined, graceMs),
  });
}

async function answered(
  studio: Studio,
  page: Page | undefined,
  request: Request,
  guards: GuardOptions,
): Promise<Response> {
  try {
    const url = new URL(request.url);
    guard(request, url, guards);
    const isApi = url.pathname === "/api" || url.pathname.startsWith("/api/") || page === undefined;
    const response = isApi ? await route(ROUTES, studio, request, url) : await page.serve(request, url);
    return request.method === "HEAD" ? withoutBody(response) : response;
  } catch (error) {
    const response = errorResponse(error);
    if (response.status === 500) studio.warn(error);
    return response;
  }
}

async function withoutBody(response: Response): Promise<Response> {
  await response.body?.cancel();
  return new Response(null, { status: response.status, headers: response.headers });
}

async function stop(studio: Studio, own: ThreadStore | undefined, graceMs: number | undefined): Promise<void> {
  await studio.stop(graceMs);
  await own?.close();
}
