import type { AgentEvent, Entry } from "heddle";
import type { StreamEvent, ThreadRow } from "./contract.ts";
import type { Listening } from "./source.ts";

const FIRST_WAIT = 250;
const LONGEST_WAIT = 5000;

/**
 * Server-sent events by fetch, which, unlike EventSource, comes back after any kind of failure. What was missed
 * meanwhile follows from Last-Event-ID. Answers how to stop.
 */
export function listen(url: string, { onEvent, onState }: Listening): () => void {
  const stop = new AbortController();
  let lastId: string | undefined;
  let wait = FIRST_WAIT;

  async function once(): Promise<void> {
    const sent = { accept: "text/event-stream", ...(lastId !== undefined && { "last-event-id": lastId }) };
    const response = await fetch(url, { headers: sent, signal: stop.signal, cache: "no-store" });
    if (response.status === 401 || response.status === 403 || response.status === 404) {
      onState("closed");
      stop.abort();
      return;
    }
    if (!response.ok || response.body === null) throw new Error(`The stream answered ${response.status}.`);
    onState("open");
    wait = FIRST_WAIT;
    const frames = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await frames.read();
      if (done) return;
      const blocks = (rest + value).split(/\r?\n\r?\n/);
      rest = blocks.pop() ?? "";
      for (const block of blocks) take(block);
    }
  }

  function take(block: string): void {
    let name = "message";
    const data: string[] = [];
    for (const line of block.split(/\r?\n/)) {
      const [, field, value = ""] = /^([a-z]+):? ?(.*)$/.exec(line) ?? [];
      if (field === "id") lastId = value;
      else if (field === "event") name = value;
      else if (field === "data") data.push(value);
    }
    const event = data.length === 0 ? undefined : eventOf(name, JSON.parse(data.join("\n")));
    if (event !== undefined) onEvent(event);
  }

  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      await once().catch(() => undefined); // whatever it was, the stream is gone and is opened again
      if (stop.signal.aborted) return;
      onState("lost");
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(LONGEST_WAIT, wait * 2);
    }
  }

  onState("connecting");
  void run();
  return () => stop.abort();
}

/** What the page knows of; other events are for others. */
function eventOf(name: string, data: Record<string, unknown>): StreamEvent | undefined {
  // The contract says what each event carries.
  if (name === "entry") return { event: name, entry: data["entry"] as Entry };
  if (name === "agent") return { event: name, agent: data as unknown as AgentEvent };
  if (name === "thread") return { event: name, thread: data as unknown as ThreadRow };
  return name === "deleted" ? { event: name, deleted: data as { id: string } } : undefined;
}
