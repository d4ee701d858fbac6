import { ProjectionError } from "../../projection/error.ts";
import { type ErrorFacts, HeddleError } from "../../thread/errors.ts";
import { httpStatusOf } from "../../thread/http-status.ts";
import type { JsonObject } from "../../thread/json.ts";

/** A request that Studio refuses, or a Studio that cannot start. `status` is the HTTP status. */
export class StudioError extends HeddleError {
  static override readonly className: string = "StudioError";
  readonly status: number;
  /** Set for `method_not_allowed`: the allowed methods. */
  declare readonly allow?: string;

  constructor({ status, allow, ...facts }: ErrorFacts & { readonly status: number; readonly allow?: string }) {
    super(facts);
    this.status = status;
    if (allow !== undefined) this.allow = allow;
  }
}

/** The error for an invalid field of a query or body. The message leaves out the value, which may be secret. */
export function badField(name: string, rule: string): StudioError {
  return new StudioError({ code: "invalid_request", status: 400, message: `${name} must be ${rule}.` });
}

type Body = string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
type Headers = { readonly [name: string]: string };

/** Headers of every response. They forbid caching, foreign scripts and frames. */
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

/** A response with a JSON body of type `Shape`. Only the compiler uses the type. */
export interface JsonResponse<Shape> extends Response {
  readonly [shape]?: Shape;
}

/** A JSON response. Name the shape, so that the compiler checks the value: `json<ThreadRow>({ ... })`. */
export function json<Shape>(value: Shape, status = 200, headers: Headers = {}): JsonResponse<Shape> {
  return reply(JSON.stringify(value), "application/json; charset=utf-8", status, headers);
}

/** A response that the browser saves as a file. */
export function download(body: Body, type: string, filename: string): Response {
  const name = filename.replaceAll(/[^\w.-]/g, "_");
  return reply(body, type, 200, { "content-disposition": `attachment; filename="${name}"` });
}

/** Makes a stream from text parts. Each part is produced when it is read. */
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

/**
 * Turns any error into a response. Messages of errors that are not Heddle's are not sent, because they may contain
 * paths or keys.
 */
export function errorResponse(error: unknown): Response {
  if (!HeddleError.isInstance(error)) {
    const message = "Unexpected error in Studio. See the output of its process.";
    return json({ error: { code: "internal", message, retryable: false } }, 500);
  }
  const { code, message, retryable } = error;
  const status = StudioError.isInstance(error) ? error.status : httpStatusOf(code);
  const headers: { [name: string]: string } = {};
  if (StudioError.isInstance(error) && error.allow !== undefined) headers["allow"] = error.allow;
  return json({ error: { code, message, retryable, ...numbersOf(error) } }, status, headers);
}

/** The token counts of a budget error, for the response. */
function numbersOf(error: HeddleError): JsonObject {
  if (!ProjectionError.isInstance(error)) return {};
  const { needed, available, parts } = error;
  return {
    ...(needed !== undefined && { needed }),
    ...(available !== undefined && { available }),
    ...(parts !== undefined && { parts }),
  };
}
