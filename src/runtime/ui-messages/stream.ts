import type { AgentEvent } from "../../agent/event.ts";
import type { Failure } from "../../agent/signal.ts";
import { checkStreamOptions } from "../option-names.ts";
import { failureOf } from "../request/request-error.ts";
import type { UIChunk, UIChunk6 } from "./chunk.ts";
import { Client6Chunks } from "./client-6.ts";
import { isClient6, STREAM_OPTIONS, type UIMessageSource, type UIMessageStreamOptions } from "./options.ts";
import { Translator } from "./translator.ts";

/**
 * A request as the stream that `useChat` and `readUIMessageStream` of the AI SDK read, from its first event on. It ends with
 * the request, or when that waits for somebody outside. A reader that leaves does not cancel the request.
 *
 * @example
 * const server = await AgentServer.start({ agent: defineAgent({ model: scriptedModel(["4"]) }), store: memoryStore() });
 * const stream = uiMessageStream(await server.ask("What's 2+2?"));
 * for await (const chunk of stream) if (chunk.type === "text-delta") console.log(chunk.delta); // 4
 * await server.stop();
 */
export function uiMessageStream(
  source: UIMessageSource,
  options: UIMessageStreamOptions & { readonly client: 6 },
): ReadableStream<UIChunk6>;
export function uiMessageStream(source: UIMessageSource, options?: UIMessageStreamOptions): ReadableStream<UIChunk>;
export function uiMessageStream(
  source: UIMessageSource,
  options: UIMessageStreamOptions = {},
): ReadableStream<UIChunk | UIChunk6> {
  checkStreamOptions("uiMessageStream", options, STREAM_OPTIONS);
  const chunks = chunksOf(source, options);
  return new ReadableStream<UIChunk | UIChunk6>({
    async pull(controller) {
      for (;;) {
        const { done, value } = await chunks.next();
        if (done) return controller.close();
        if (value === "keepalive") continue;
        return controller.enqueue(value);
      }
    },
    cancel() {
      void chunks.return(); // waits for the next event, which nobody has to wait for
    },
  });
}

const ENDS: ReadonlySet<UIChunk["type"]> = new Set(["error", "abort", "finish"]);
const TERMINAL: ReadonlySet<AgentEvent["kind"]> = new Set([
  "request_completed",
  "request_failed",
  "request_cancelled",
  "request_suspended",
]);

/** The chunks of a request as the page's version knows them; `keepalive` where there is nothing but a tool at work. */
export function chunksOf(
  source: UIMessageSource,
  options: UIMessageStreamOptions,
): AsyncGenerator<UIChunk | UIChunk6 | "keepalive", void> {
  const chunks = chunks7Of(source, options);
  return isClient6(options.client) ? rewritten(chunks) : chunks;
}

async function* rewritten(chunks: AsyncIterable<UIChunk | "keepalive">): AsyncGenerator<UIChunk6 | "keepalive", void> {
  const client = new Client6Chunks();
  for await (const chunk of chunks) {
    if (chunk === "keepalive") yield chunk;
    else yield* client.rewrite(chunk);
  }
}

async function* chunks7Of(
  source: UIMessageSource,
  options: UIMessageStreamOptions,
): AsyncGenerator<UIChunk | "keepalive", void> {
  const { messageId = source.id, after = 0 } = options;
  const translator = new Translator(options);
  yield { type: "start", messageId };
  let isOver = false;
  for await (const event of source.events({ until: "waiting" })) {
    const chunks = translator.take(event);
    isOver = TERMINAL.has(event.kind);
    if (event.seq <= after) continue;
    const added = addedTo(event, options);
    // Clients read nothing behind an error or the end.
    const end = isOver ? chunks.findIndex(({ type }) => ENDS.has(type)) : chunks.length;
    yield* [...chunks.slice(0, end), ...added, ...chunks.slice(end)];
    if (event.kind === "keepalive") yield "keepalive";
  }
  if (isOver) return;
  const failure = await failureIn(source);
  yield* failure === undefined ? translator.rest() : translator.fail(failure);
}

function addedTo(event: AgentEvent, { data, messageMetadata }: UIMessageStreamOptions): readonly UIChunk[] {
  const given = data?.(event);
  const parts = given === undefined ? [] : "type" in given ? [given] : given;
  const metadata = messageMetadata?.(event);
  return [
    ...parts,
    ...(metadata === undefined ? [] : [{ type: "message-metadata", messageMetadata: metadata } as const]),
  ];
}

const UNTOLD = { code: "request_interrupted", message: "The request is not told of any further." };

/** Why there are no more events of a request that has not ended here. */
async function failureIn(source: UIMessageSource): Promise<Failure | undefined> {
  if (source.state !== "done") return undefined; // a host keeps a thread for whoever has taken its `result`
  return source.result.then(
    () => undefined,
    (error: unknown) => failureOf(error, UNTOLD),
  );
}
