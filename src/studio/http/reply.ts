type Body = string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
type Headers = { readonly [name: string]: string };

/** Headers of every answer: no caching, no foreign scripts, no frames. */
const SAFE: { readonly [name: string]: string } = {
  "cache-control": "no-store",
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; " +
    "connect-src 'self'; worker-src 'self'; manifest-src 'self'; media-src 'self' data: blob:; base-uri 'none'; " +
    "form-action 'self'; frame-ancestors 'none'; object-src 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

export function reply(body: Body | null, type: string, status = 200, headers: Headers = {}): Response {
  return new Response(body, { status, headers: { ...SAFE, "content-type": type, ...headers } });
}

declare const shape: unique symbol;

/** A response with a JSON body of this shape. The shape exists only for the compiler. */
export interface Answer<Shape> extends Response {
  readonly [shape]?: Shape;
}

/** A JSON response. Name the shape, so that the compiler checks the value: `json<ThreadRow>({ ... })`. */
export function json<Shape>(value: Shape, status = 200, headers: Headers = {}): Answer<Shape> {
  return reply(JSON.stringify(value), "application/json; charset=utf-8", status, headers);
}

/** A response that the browser saves as a file. */
export function download(body: Body, type: string, filename: string): Response {
  const name = filename.replaceAll(/[^\w.-]/g, "_");
  return reply(body, type, 200, { "content-disposition": `attachment; filename="${name}"` });
}

/** A stream of text that is produced as it is read. */
export function textStream(parts: AsyncIterable<string>): ReadableStream<Uint8Array> {
  const iterator = parts[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const { done, value } = await iterator.next();
        if (done === true) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
      cancel: async () => {
        await iterator.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}
