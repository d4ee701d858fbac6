interface Fetcher {
  fetch(request: Request): Promise<Response>;
}

interface Env {
  readonly THREADS: { getByName(name: string): Fetcher };
}

/** Sends all requests of a worker to one Durable Object. */
export function toObject(name: string): (request: Request, env: Env) => Promise<Response> {
  return (request, { THREADS }) => THREADS.getByName(name).fetch(request);
}
