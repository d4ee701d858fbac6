import { createServer, type IncomingMessage, request } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";

/** A place in the bytes of an answer. */
export type Place =
  | "before the head"
  | "in the head"
  | "before the first event"
  | "inside the first event"
  | "between two events"
  | "inside a character"
  | "inside the last event"
  | "before the last event"
  | "before the end";

export const PLACES: readonly Place[] = [
  "before the head",
  "in the head",
  "before the first event",
  "inside the first event",
  "between two events",
  "inside a character",
  "inside the last event",
  "before the last event",
  "before the end",
];

/** `close`: the body ends with the connection, so a cut looks like the end of the answer. */
type Framing = "chunked" | "close";

export type Fault =
  /** `reset`: the connection breaks. `end`: it is closed in one direction, without an error. `stall`: silence. */
  | { readonly type: "cut"; readonly at: Place; readonly how: "reset" | "end" | "stall"; readonly framing?: Framing }
  /** One byte of the answer is another one. `at` is a share of the body, from 0 up to 1. */
  | { readonly type: "garble"; readonly at: number; readonly byte: number; readonly framing?: Framing }
  /** A `"` that begins an event is lost. */
  | { readonly type: "broken_json"; readonly event: number }
  /** Another answer than that of the server, which does not hear of the request. */
  | { readonly type: "status"; readonly status: number; readonly retryAfterS?: number; readonly html?: boolean }
  /** The answer comes in pieces of so many bytes. */
  | { readonly type: "pieces"; readonly bytes: number; readonly framing?: Framing };

/** An HTTP proxy before one server. It writes the bytes of each answer itself, so that it can break them at any place. */
export interface FaultProxy extends AsyncDisposable {
  readonly url: string;
  /** How many requests have arrived. */
  readonly count: number;
  /** The faults of the next requests, in order, in place of all before. Without one, an answer is passed on as it is. */
  fail(...faults: readonly (Fault | undefined)[]): void;
  /** Resolves when an answer has fallen silent. */
  stalled(): Promise<void>;
  stop(): Promise<void>;
}

export async function startFaultProxy(target: string): Promise<FaultProxy> {
  let faults: readonly (Fault | undefined)[] = [];
  let count = 0;
  const sockets = new Set<Socket>();
  const silent = { count: 0, seen: 0, wake: (): void => undefined };
  const http = createServer((incoming) => {
    const [fault, ...others] = faults;
    faults = others;
    count += 1;
    const { socket } = incoming;
    const onStall = (): void => {
      silent.count += 1;
      silent.wake();
    };
    pass(target, incoming, fault, onStall).catch(() => socket.destroy());
  });
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("error", () => undefined); // the client is gone
    socket.once("close", () => sockets.delete(socket));
    http.emit("connection", socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const stop = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    url: `http://127.0.0.1:${port}`,
    get count() {
      return count;
    },
    fail: (...next) => {
      faults = next;
    },
    async stalled() {
      silent.seen += 1;
      while (silent.count < silent.seen) {
        await new Promise<void>((resolve) => {
          silent.wake = resolve;
        });
      }
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

async function pass(
  target: string,
  incoming: IncomingMessage,
  fault: Fault | undefined,
  onStall: () => void,
): Promise<void> {
  const { socket } = incoming;
  const body = await bytesOf(incoming);
  if (fault?.type === "status") return write(socket, refusal(fault));
  const { head, events } = await asked(target, incoming, body, fault);
  const bytes = Buffer.concat([head, ...events]);
  if (fault === undefined) return write(socket, bytes);
  switch (fault.type) {
    case "pieces":
      for (let at = 0; at < bytes.length && !socket.destroyed; at += fault.bytes) {
        socket.write(bytes.subarray(at, at + fault.bytes));
        await turn();
      }
      socket.end();
      return;
    case "garble": {
      const at = head.length + Math.floor(fault.at * (bytes.length - head.length));
      bytes[at] = fault.byte;
      return write(socket, bytes);
    }
    case "broken_json": {
      const event = events[Math.min(fault.event, events.length - 1)] ?? Buffer.alloc(0);
      const start = Buffer.concat([head, ...events.slice(0, events.indexOf(event))]).length;
      const quote = bytes.indexOf('"', start);
      if (quote >= 0) bytes[quote] = " ".charCodeAt(0);
      return write(socket, bytes);
    }
    case "cut": {
      await new Promise((resolve) => socket.write(bytes.subarray(0, offsetOf(fault.at, head, events)), resolve));
      await turn(); // the client reads what came before a reset, which would discard it
      if (fault.how === "stall") return socket.destroyed ? undefined : onStall();
      if (fault.how === "end") socket.end();
      else socket.resetAndDestroy();
      return;
    }
    default:
      return fault satisfies never;
  }
}

/** What was sent is read before the next step. */
async function turn(): Promise<void> {
  for (let count = 0; count < 4; count++) await new Promise((resolve) => setImmediate(resolve));
}

function write(socket: Socket, bytes: Uint8Array): void {
  socket.end(bytes);
}

function refusal({ status, retryAfterS, html = false }: Extract<Fault, { type: "status" }>): Buffer {
  const body = html ? "<html><body>Bad gateway</body></html>" : JSON.stringify({ error: { message: "Try later." } });
  const lines = [
    `HTTP/1.1 ${status} Refused`,
    `content-type: ${html ? "text/html" : "application/json"}`,
    `content-length: ${body.length}`,
    ...(retryAfterS === undefined ? [] : [`retry-after: ${retryAfterS}`]),
    "connection: close",
  ];
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`);
}

interface Answered {
  readonly head: Buffer;
  /** Each event as it goes over the wire; an answer at once is one event. */
  readonly events: readonly Buffer[];
}

/** Asks the server, and writes its answer as bytes. */
async function asked(
  target: string,
  incoming: IncomingMessage,
  body: Buffer,
  fault: Fault | undefined,
): Promise<Answered> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const { host: _host, connection: _connection, ...headers } = incoming.headers;
    request(new URL(incoming.url ?? "/", target), { method: incoming.method, headers }, resolve)
      .once("error", reject)
      .end(body);
  });
  const text = (await bytesOf(response)).toString("utf8");
  const isStream = response.headers["content-type"]?.includes("event-stream") === true;
  const pieces = (isStream ? text.split(/(?<=\n\n)/) : [text]).map((piece) => Buffer.from(piece));
  const framing = (fault !== undefined && "framing" in fault && fault.framing) || "chunked";
  const { "content-length": _length, "transfer-encoding": _encoding, ...headers } = response.headers;
  const lines = [
    `HTTP/1.1 ${response.statusCode} OK`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`),
    ...(framing === "chunked" ? ["transfer-encoding: chunked"] : []),
  ].filter((line) => !/^(connection|keep-alive):/i.test(line));
  const head = Buffer.from(`${[...lines, "connection: close"].join("\r\n")}\r\n\r\n`);
  if (framing === "close") return { head, events: pieces };
  const chunks = pieces.map((piece) => Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, CRLF]));
  return { head, events: [...chunks, Buffer.from("0\r\n\r\n")] };
}

const CRLF = Buffer.from("\r\n");

function offsetOf(place: Place, head: Buffer, all: readonly Buffer[]): number {
  const isChunked = all.at(-1)?.toString() === "0\r\n\r\n";
  const events = isChunked ? all.slice(0, -1) : all;
  const lengthOf = (count: number): number =>
    events.slice(0, count).reduce((sum, event) => sum + event.length, head.length);
  const inside = (index: number): number => lengthOf(index) + Math.floor((events[index]?.length ?? 0) / 2);
  const last = events.length - 1;
  switch (place) {
    case "before the head":
      return 0;
    case "in the head":
      return Math.floor(head.length / 2);
    case "before the first event":
      return lengthOf(0);
    case "inside the first event":
      return inside(0);
    case "between two events":
      return lengthOf(Math.ceil(events.length / 2));
    case "inside a character": {
      const bytes = Buffer.concat([head, ...events]);
      const at = bytes.findIndex((byte) => byte >= 0xc0);
      return at < 0 ? inside(0) : at + 1;
    }
    case "inside the last event":
      return inside(last);
    case "before the last event":
      return lengthOf(last);
    case "before the end":
      return lengthOf(events.length);
    default:
      return place satisfies never;
  }
}

async function bytesOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer); // a message without encoding yields buffers
  return Buffer.concat(chunks);
}
