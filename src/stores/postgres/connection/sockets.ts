import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { atMost } from "./at-most.ts";

const GRACE_MS = 500;

/** What the library tells of where to connect: lists, because a URL may name several hosts. */
interface Address {
  readonly host: readonly string[];
  readonly port: readonly number[];
  readonly path?: string | false;
}

/**
 * The sockets of a store, so that none outlives it: the library, when it is ended while it waits to connect again,
 * connects all the same later, and the process never ends.
 */
export class Sockets {
  readonly #open = new Set<Socket>();
  #closed = false;

  /** The library takes a socket that still connects, and deals with its errors. */
  connect({ host: [host = "localhost"], port: [port = 5432], path }: Address): Socket {
    const socket = path ? connect(path) : connect({ host, port, noDelay: true });
    this.#open.add(socket);
    socket.once("close", () => this.#open.delete(socket));
    if (this.#closed) socket.destroy();
    return Object.assign(socket, { host, port }); // it asks for a certificate of that host
  }

  /** Those that say goodbye have a moment for it. */
  async close(): Promise<void> {
    this.#closed = true;
    const talking = [...this.#open].filter(({ connecting }) => !connecting);
    await atMost(GRACE_MS, Promise.allSettled(talking.map((socket) => once(socket, "close"))));
    for (const socket of this.#open) socket.destroy();
  }
}
