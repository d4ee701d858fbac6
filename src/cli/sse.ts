/** One message of an event stream. */
export interface Told {
  readonly event: string;
  readonly data: string;
  readonly id: string | undefined;
}

/** The messages of a stream, as they arrive. Comments and an incomplete last message are skipped. */
export async function* messagesIn(body: ReadableStream<Uint8Array>): AsyncGenerator<Told, void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const parts = `${rest}${decoder.decode(chunk, { stream: true })}`.split("\n\n");
    rest = parts.pop() ?? "";
    for (const part of parts) {
      const told = messageIn(part);
      if (told !== undefined) yield told;
    }
  }
}

function messageIn(text: string): Told | undefined {
  const lines = text.split("\n");
  const field = (name: string): string | undefined =>
    lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
  const data = field("data");
  return data === undefined ? undefined : { event: field("event") ?? "message", data, id: field("id") };
}
