import { badUrl } from "../options.ts";
import type { Library, Sql } from "./library.ts";
import type { Sockets } from "./sockets.ts";

const LONGEST_BACKOFF_SECONDS = 1;

interface PoolOptions {
  /** How many connections at most. */
  readonly max: number;
  /** Whether statements are prepared once for each connection, unless the URL says otherwise. Default true. */
  readonly prepare?: boolean;
  readonly onClose?: () => void;
}

/** Makes pools of connections; each connects when it is first asked something, and again after a loss. */
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
        // Not in its types. Of several hosts the library tries one after the other, each connection for itself.
        ...(!namesSeveralHosts(url) && {
          socket: (address: Parameters<Sockets["connect"]>[0]) => sockets.connect(address),
        }),
      });
    } catch {
      throw badUrl(); // what the library says repeats the URL
    }
  };
}

function namesSeveralHosts(url: string): boolean {
  return /^\w+:\/\/[^/?]*,/.test(url);
}
