import type { Studio } from "../studio.ts";
import { StudioError } from "./response.ts";

export interface RouteCall {
  readonly studio: Studio;
  readonly request: Request;
  readonly query: URLSearchParams;
  /** The value of a path parameter; "" if the pattern has no such name. */
  readonly param: (name: string) => string;
}

export type RouteHandler<Answered extends Response = Response> = (call: RouteCall) => Promise<Answered>;

export interface Route {
  readonly method: string;
  /** Parts in braces are parameters: `/api/threads/{id}`. */
  readonly path: string;
  /** Whether the route changes threads. A read-only Studio refuses it. */
  readonly writes: boolean;
  readonly run: RouteHandler;
}

/** Runs the route that matches the request. HEAD runs GET and drops the body. */
export async function route(routes: readonly Route[], studio: Studio, request: Request, url: URL): Promise<Response> {
  const { pathname, searchParams: query } = url;
  const fitting = routes.flatMap((route) => {
    const params = paramsOf(route.path, pathname);
    return params === undefined ? [] : [{ route, params }];
  });
  if (fitting.length === 0) throw notFound();
  const method = request.method === "HEAD" ? "GET" : request.method;
  const found = fitting.find(({ route }) => route.method === method);
  if (found === undefined) throw notAllowed(fitting.map(({ route }) => route.method).join(", "));
  const { route, params } = found;
  if (route.writes && studio.readOnly) throw readOnly();
  return route.run({ studio, request, query, param: (name) => params.get(name) ?? "" });
}

function paramsOf(pattern: string, path: string): ReadonlyMap<string, string> | undefined {
  const [wanted, given] = [pattern.split("/"), path.split("/")];
  if (wanted.length !== given.length) return undefined;
  const params = new Map<string, string>();
  for (const [index, part] of wanted.entries()) {
    const text = given[index] ?? "";
    if (part.startsWith("{")) params.set(part.slice(1, -1), decoded(text));
    else if (part !== text) return undefined;
  }
  return params;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw notFound();
  }
}

function notFound(): StudioError {
  const message = "There is no such route. /api/openapi.json lists all routes.";
  return new StudioError({ code: "route_not_found", status: 404, message });
}

function notAllowed(allow: string): StudioError {
  const message = `This route allows only ${allow}.`;
  return new StudioError({ code: "method_not_allowed", status: 405, message, allow });
}

function readOnly(): StudioError {
  const message = "This Studio is read-only. To make changes, start it without readOnly (--read-only).";
  return new StudioError({ code: "read_only", status: 403, message });
}
