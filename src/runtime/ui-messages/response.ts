import { checkStreamOptions } from "../option-names.ts";
import { STREAM_OPTIONS, type UIMessageSource, type UIMessageStreamOptions } from "./options.ts";
import { chunksOf } from "./stream.ts";

/** The options of the stream, and the status and headers of the response. */
export interface UIMessageStreamResponseInit extends UIMessageStreamOptions {
  /** The HTTP status. Default 200. */
  readonly status?: number | undefined;
  /** The HTTP status text. Default "". */
  readonly statusText?: string | undefined;
  /** Beside those that the AI SDK reads, which yours win over. Default: none. */
  readonly headers?: ConstructorParameters<typeof Headers>[0] | undefined;
}

const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache",
  connection: "keep-alive",
  "x-vercel-ai-ui-message-stream": "v1",
  "x-accel-buffering": "no", // a proxy that collects the stream would keep it from the user
};

/**
 * The answer of a route that `useChat` posts to: the stream of `uiMessageStream` as server-sent events. While a tool is at
 * work its heartbeats keep the connection open.
 *
 * @example
 * const host = AgentHost.create({ agent: defineAgent({ model: scriptedModel(["4"]) }), store: memoryStore() });
 * const POST = async (content: string) => uiMessageStreamResponse(await host.ask("thread_1", content));
 * console.log((await POST("What's 2+2?")).headers.get("content-type")); // text/event-stream
 */
export function uiMessageStreamResponse(source: UIMessageSource, init: UIMessageStreamResponseInit = {}): Response {
  checkStreamOptions("uiMessageStreamResponse", init, {
    ...STREAM_OPTIONS,
    status: true,
    statusText: true,
    headers: true,
  });
  const { status = 200, statusText = "", headers: given, ...options } = init;
  const headers = new Headers(given);
  for (const [name, value] of Object.entries(HEADERS)) if (!headers.has(name)) headers.set(name, value);
  const chunks = chunksOf(source, options);
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) {
        controller.enqueue(encoder.encode("data: [DONE]\n\n"));
        return controller.close();
      }
      // A line that begins with a colon is read by nobody.
      const line = value === "keepalive" ? ": keepalive" : `data: ${JSON.stringify(value)}`;
      controller.enqueue(encoder.encode(`${line}\n\n`));
    },
    cancel() {
      void chunks.return(); // waits for the next event, which nobody has to wait for
    },
  });
  return new Response(body, { status, statusText, headers });
}
