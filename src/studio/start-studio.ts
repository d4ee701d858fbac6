import { createHash } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname } from "node:os";
import { refuseUnknownOptions } from "../thread/option-names.ts";
import { studioHandler } from "./handler.ts";
import { randomSecret } from "./http/access.ts";
import { StudioError } from "./http/error.ts";
import { listener } from "./http/listener.ts";
import { checkStudioOptions, type RunningStudio, type StartOptions } from "./options.ts";

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/;

/**
 * Starts Studio: a page and an API for the threads of a store. It listens only on this machine unless you set `host`. The API
 * requires `token`, because other users and web pages of this machine can reach the port. `url` works once, in one browser,
 * which keeps the token.
 *
 * @example
 * const studio = await startStudio({ store: memoryStore(), port: 0 });
 * const headers = { authorization: `Bearer ${studio.token}` };
 * const info = await fetch(new URL("/api/info", studio.url), { headers });
 * console.log(info.status); // 200
 * await studio.stop();
 */
export async function startStudio(options: StartOptions = {}): Promise<RunningStudio> {
  checkStudioOptions("startStudio", options, { port: true, host: true });
  const { port = 4747, host = "127.0.0.1" } = options;
  const isLocal = LOOPBACK.test(host);
  const token = options.token ?? randomSecret();
  const server = createServer();
  // The port is opened first: only the Studio that has it may resume the requests of a killed Studio.
  const bound = await listening(server, port, host);
  try {
    const hosts = isLocal ? [...(options.hosts ?? []), ...localHosts(bound, host)] : options.hosts;
    const { port: _port, host: _host, ...own } = options;
    const handle = await studioHandler({ ...own, token }, { hosts: () => hosts });
    server.on("request", listener(handle, isLocal ? `localhost:${bound}` : `${host}:${bound}`));
    handle.takeUp(holderName(host, bound)).catch(() => undefined); // an unreadable store fails later, at the first call
    const stop: RunningStudio["stop"] = async (given = {}) => {
      refuseUnknownOptions("stop", given, { graceMs: true });
      const closed = closing(server);
      await handle.stop(given);
      server.closeAllConnections();
      await closed;
    };
    return {
      url: urlOf(host, bound, handle.mintCode()),
      token,
      port: bound,
      stop,
      [Symbol.asyncDispose]: () => stop(),
    };
  } catch (error) {
    await closing(server);
    throw error;
  }
}

function listening(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(notListening(error, port, host)));
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port)); // it listens on a port and not on a pipe
  });
}

function closing(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
  });
}

function localHosts(port: number, host: string): readonly string[] {
  const names = ["localhost", "127.0.0.1", "[::1]", host.includes(":") ? `[${host}]` : host];
  return names.flatMap((name) => (port === 80 ? [name, `${name}:80`] : [`${name}:${port}`]));
}

function urlOf(host: string, port: number, code: string): string {
  const name = host === "0.0.0.0" || host === "::" ? hostname() : host.includes(":") ? `[${host}]` : host;
  return `http://${name}:${port}/#/enter/${code}`;
}

/** The same name after a restart. A restarted Studio need not wait until the claims of the killed one expire. */
function holderName(host: string, port: number): string {
  return `studio_${createHash("sha256").update(`${hostname()} ${host} ${port}`).digest("hex").slice(0, 16)}`;
}

function notListening({ code }: NodeJS.ErrnoException, port: number, host: string): StudioError {
  const status = 500;
  if (code === "EADDRINUSE") {
    const message = `Port ${port} of ${host} is in use. Choose another port, or 0 for any free one.`;
    return new StudioError({ code: "port_in_use", status, message });
  }
  const message = `Studio cannot listen on port ${port} of ${host} (${code ?? "unknown"}). Choose another port or address.`;
  return new StudioError({ code: "cannot_listen", status, message });
}
