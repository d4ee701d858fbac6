import type { AgentEvent } from "../../agent/event.ts";
import type { Failure } from "../../agent/failure.ts";
import { failureOf } from "../request/request-error.ts";
import type { UIChunk } from "./chunk.ts";
import type { UIMessageSource, UIMessageStreamOptions } from "./options.ts";
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
  options: UIMessageStreamOptions = {},
): ReadableStream<UIChunk> {
  const chunks = chunksOf(source, options);
  return new ReadableStream<UIChunk>({
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

const TERMINAL: ReadonlySet<AgentEvent["kind"]> = new Set(["request_completed", "request_failed", "request_cancelled"]);

/** The chunks of a request; `keepalive` where there is nothing to say but that a tool is at work. */
export async function* chunksOf(
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
    // The last chunk is the end: nothing is read behind it.
    yield* isOver ? [...chunks.slice(0, -1), ...added, ...chunks.slice(-1)] : [...chunks, ...added];
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
