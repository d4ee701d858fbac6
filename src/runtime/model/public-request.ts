interface PublicRequest {
  readonly signal: AbortSignal;
  /** The error for an address that must not be asked. */
  readonly refuse: (address: string) => Error | undefined;
}

interface Address {
  readonly address: string;
  readonly family: number;
}

type LookupDone = (error: Error | null, addresses?: readonly Address[]) => void;
type Lookup = (host: string, options: object, done: LookupDone) => void;

/** What is used of Node's `http` and `https`; other runtimes have them too, or none of them. */
interface HttpModule {
  request(url: URL, options: object, done: (response: IncomingResponse) => void): OutgoingRequest;
}

interface OutgoingRequest {
  on(event: "error", listener: (error: Error) => void): void;
  end(): void;
}

interface IncomingResponse extends AsyncIterable<Uint8Array> {
  readonly statusCode?: number;
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined };
  destroy(): void;
}

/**
 * GET without redirects. Refuses an address at the lookup of the connection itself, so that a name cannot have one address
 * when it is checked and another when it is asked. Where the runtime has no `node:http`, its own fetch decides.
 */
export function getPublic(url: URL, { signal, refuse }: PublicRequest): Promise<Response> {
  const http = builtin<HttpModule>(url.protocol === "https:" ? "node:https" : "node:http");
  const dns = builtin<{ readonly lookup: Lookup }>("node:dns");
  if (http === undefined || dns === undefined) return fetch(url, { redirect: "manual", signal });
  const lookup: Lookup = (host, options, done) =>
    dns.lookup(host, { ...options, all: true }, (error, addresses = []) => {
      const refused = addresses.map(({ address }) => refuse(address)).find((one) => one !== undefined);
      done(error ?? refused ?? null, addresses);
    });
  return new Promise((resolve, reject) => {
    const options = { signal, lookup, autoSelectFamily: true, headers: { "accept-encoding": "identity" } };
    const request = http.request(url, options, (response) => resolve(responseOf(response)));
    request.on("error", reject);
    request.end();
  });
}

function builtin<Module>(name: string): Module | undefined {
  const { process } = globalThis as { readonly process?: { readonly getBuiltinModule?: (name: string) => unknown } };
  return process?.getBuiltinModule?.(name) as Module | undefined; // as Node documents it
}

function responseOf(response: IncomingResponse): Response {
  const { statusCode: status = 500, headers: given } = response;
  const headers = new Headers();
  for (const name of ["content-type", "location"]) {
    const value = given[name];
    if (typeof value === "string") headers.set(name, value);
  }
  const chunks = response[Symbol.asyncIterator]();
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = await chunks.next();
      if (done === true) controller.close();
      else controller.enqueue(new Uint8Array(value));
    },
    cancel: () => response.destroy(),
  });
  const isEmpty = status === 204 || status === 205 || status === 304 || status < 200;
  if (isEmpty) response.destroy();
  return new Response(isEmpty ? null : body, { status: Math.max(200, status), headers });
}
