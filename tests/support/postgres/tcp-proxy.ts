import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Passes bytes on to a server, and can stop to, as a network that has forgotten its connections does. */
export type TcpProxy = {
  /** The server's URL with the port of the proxy. */
  readonly url: string;
  /** How many connections are open to the proxy. */
  readonly connections: number;
  /** From now on nothing passes on the connections there are; nobody is told. New ones work. */
  silence(): void;
  /** Resets the connections there are, as a network device that restarts does. New ones work. */
  reset(): void;
  /** Cuts every connection, and each new one until `accept`. */
  refuse(): void;
  accept(): void;
  /** Passes the next COMMIT on to the server, waits for its answer, and cuts the connection instead of passing it on. */
  cutNextCommit(): void;
  stop(): Promise<void>;
};

interface Faults {
  /** Every connection is accepted, and nothing is answered. Default false. */
  readonly isSilent?: boolean;
  /** How many connections are lost with their first statement. Default 0. */
  readonly lostAfterLogin?: number;
}

/** The end of a login: the message ReadyForQuery, outside of a transaction. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

export async function startProxy(
  serverUrl: string,
  { isSilent = false, lostAfterLogin = 0 }: Faults = {},
): Promise<TcpProxy> {
  let losses = lostAfterLogin;
  let isCuttingCommit = false;
  let isRefusing = false;
  const { hostname, port } = new URL(serverUrl);
  const inward = new Set<Socket>();
  const outward = new Set<Socket>();
  const server = createServer((client) => {
    keep(client, inward);
    if (isRefusing) return void client.destroy();
    if (isSilent) return void client.resume();
    const target = connect(Number(port || 5432), hostname);
    keep(target, outward);
    client.on("data", (data) => {
      if (!isCuttingCommit || !data.includes("commit\0")) return;
      isCuttingCommit = false;
      target
        .unpipe(client)
        .resume()
        .on("data", (answer) => {
          if (answer.subarray(-READY.length).equals(READY)) client.destroy();
        });
    });
    client.pipe(target);
    target.pipe(client);
    if (losses-- > 0) {
      target.on("data", (data) => {
        if (data.subarray(-READY.length).equals(READY))
          client
            .unpipe()
            .once("data", () => client.destroy())
            .resume();
      });
    }
    for (const [from, to] of [[client, target] as const, [target, client] as const])
      from.once("close", () => to.destroy());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = new URL(serverUrl);
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as AddressInfo).port); // it listens on TCP
  return {
    url: url.href,
    get connections() {
      return inward.size;
    },
    silence() {
      for (const socket of [...inward, ...outward]) socket.unpipe().resume();
    },
    reset() {
      for (const socket of inward) socket.resetAndDestroy();
    },
    refuse() {
      isRefusing = true;
      for (const socket of inward) socket.destroy();
    },
    accept() {
      isRefusing = false;
    },
    cutNextCommit() {
      isCuttingCommit = true;
    },
    async stop() {
      for (const socket of [...inward, ...outward]) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

function keep(socket: Socket, all: Set<Socket>): void {
  all.add(socket);
  socket.on("error", () => {});
  socket.once("close", () => all.delete(socket));
}
