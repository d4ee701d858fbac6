import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { atMost } from "./at-most.ts";

const GRACE_MS = 500;

/** The library's address options. They are lists, because a URL may name several hosts. */
interface Address {
  readonly host: readonly string[];
  readonly port: readonly number[];
  readonly path?: string | false;
}

/**
 * Tracks the sockets of a store, so that all are closed with it. When the library is closed while it waits to reconnect,
 * it still reconnects later, and the open socket would keep the process alive.
 */
export class Sockets {
  readonly #open = new Set<Socket>();
  #closed = false;

  /** Returns a socket that is still connecting. The library handles its errors. */
  connect({ host: [host = "localhost"], port: [port = 5432], path }: Address): Socket {
    const socket = path ? connect(path) : connect({ host, port, noDelay: true });
    this.#open.add(socket);
    socket.once("close", () => this.#open.delete(socket));
    if (this.#closed) socket.destroy();
    return Object.assign(socket, { host, port }); // the library checks the certificate against this host
  }

  /** Gives open connections a short time to close normally, then destroys all sockets. */
  async close(): Promise<void> {
    this.#closed = true;
    const talking = [...this.#open].filter(({ connecting }) => !connecting);
    await atMost(GRACE_MS, Promise.allSettled(talking.map((socket) => once(socket, "close"))));
    for (const socket of this.#open) socket.destroy();
  }
}
