import { badUrl } from "../options.ts";
import type { Library, Sql } from "./library.ts";
import type { Sockets } from "./sockets.ts";

const LONGEST_BACKOFF_SECONDS = 1;

interface PoolOptions {
  /** The largest number of connections. */
  readonly max: number;
  /** Whether to use prepared statements. The URL parameter `prepare` takes precedence. Default true. */
  readonly prepare?: boolean;
  readonly onClose?: () => void;
}

/** Creates connection pools. A pool connects on its first query, and reconnects after a lost connection. */
export type Connect = (options: PoolOptions) => Sql;

export function connector(library: Library, url: string, sockets: Sockets): Connect {
  return ({ max, prepare = true, onClose = () => {} }) => {
    try {
      return library(url, {
        max,
        ...(!/[?&]prepare=/.test(url) && { prepare }),
        onclose: onClose,
        onnotice: () => {},
        backoff: (retries) => (0.5 + Math.random() / 2) * Math.min(3 ** retries / 100, LONGEST_BACKOFF_SECONDS),
        connection: { application_name: "heddle" },
        types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } },
        // The library's types lack `socket`. With several hosts the library itself tries one after the other.
        ...(!namesSeveralHosts(url) && {
          socket: (address: Parameters<Sockets["connect"]>[0]) => sockets.connect(address),
        }),
      });
    } catch {
      throw badUrl(); // the library's message quotes the URL
    }
  };
}

function namesSeveralHosts(url: string): boolean {
  return /^\w+:\/\/[^/?]*,/.test(url);
}
