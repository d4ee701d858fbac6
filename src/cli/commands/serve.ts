import { setTimeout as sleep } from "node:timers/promises";
import { randomSecret } from "../../studio/http/guard.ts";
import { LOOPBACK } from "../../studio/start-studio.ts";
import { agentsOf, exported, moduleIn } from "../agent.ts";
import { defineCommand, STORE_OPTIONS, wholeNumber } from "../command.ts";
import { untilStopped } from "../interrupts.ts";
import { badUsage, CliError, EXIT } from "../io.ts";
import type { LogLine } from "../serve/monitor.ts";
import { type ServiceOptions, startService } from "../serve/service.ts";
import { openNamedStore } from "../studio-client.ts";

export const serve = defineCommand({
  args: "<file>",
  options: {
    port: {
      type: "string",
      short: "p",
      value: "number",
      help: "default 8787; 0 takes any free port; also HEDDLE_PORT",
    },
    host: { type: "string", value: "address", help: "default 127.0.0.1; in a container 0.0.0.0; also HEDDLE_HOST" },
    token: { type: "string", value: "token", help: "access token of chat, API and Studio; also HEDDLE_TOKEN" },
    concurrency: {
      type: "string",
      short: "c",
      value: "number",
      help: "the most model calls at once; default 100; also HEDDLE_CONCURRENCY",
    },
    drain: {
      type: "string",
      value: "seconds",
      help: "how long to serve after SIGTERM, while readyz is 503; default 5; also HEDDLE_DRAIN",
    },
    grace: {
      type: "string",
      value: "seconds",
      help: "how long tools may then go on; default 30; also HEDDLE_GRACE",
    },
    ...STORE_OPTIONS,
  },
  notes: [
    "<file> is a module that exports one or more agents. `export const chat = { … }` has options of chatHandler, such as authorize,",
    "`export const host = { … }` options of AgentHost, such as context and tools, and `export const work = { … }` limits of host.work.",
    "Serves the chat under /api/chat, the Studio under all other paths, /healthz, /readyz, and /metrics with the token.",
    "SIGTERM or Ctrl-C stops it: another process takes its requests at their next step. A second one ends it at once.",
    "The log is JSON Lines on stderr. It has no text of users, models or tools.",
  ],
  examples: [
    { run: "heddle serve agent.ts --port 0 --drain 0", does: "serve ./heddle.db on any free port of this machine" },
    { run: "heddle serve agent.ts --port 0 --drain 0 -c 20", does: "at most 20 model calls at once" },
  ],
  run: async ({ io, out, args: [file = ""], options }) => {
    const whole = (name: "concurrency" | "drain" | "grace" | "port", least: number, otherwise: number): number => {
      const variable = `HEDDLE_${name.toUpperCase()}`;
      const given = options[name];
      if (given !== undefined) return wholeNumber(given, `--${name}`, least) ?? otherwise;
      return wholeNumber(io.env[variable] || undefined, variable, least) ?? otherwise;
    };
    const port = whole("port", 0, 8787);
    if (port > 65_535) throw badUsage("--port must be a number from 0 to 65535.");
    const [concurrency, drainMs] = [whole("concurrency", 1, 100), 1000 * whole("drain", 0, 5)];
    const graceMs = 1000 * whole("grace", 0, 30);
    const version = wholeNumber(io.env["HEDDLE_VERSION"] || undefined, "HEDDLE_VERSION", 1);
    const host = options.host ?? (io.env["HEDDLE_HOST"] || "127.0.0.1");
    const token = options.token ?? (io.env["HEDDLE_TOKEN"] || ownToken(host));
    const log = (line: LogLine): void => {
      const text = JSON.stringify({ time: new Date(io.now()).toISOString(), ...line });
      void io.stderr.write(`${text}\n`).catch(() => undefined); // a reader that left stops no server
    };
    const module = await moduleIn(io, file);
    return untilStopped(io, async (stopped) => {
      const named = options.store ?? (io.env["HEDDLE_STORE"] || io.env["DATABASE_URL"] || undefined);
      const { store, label } = await openNamedStore(io, { ...options, store: named }, true);
      try {
        const service = await startService({
          agents: agentsOf(module, file),
          hostOptions: exported<ServiceOptions["hostOptions"]>(module, "host", file),
          chatOptions: exported<ServiceOptions["chatOptions"]>(module, "chat", file),
          work: { version, ...exported<ServiceOptions["work"]>(module, "work", file), concurrency },
          ...{ store, label, token, port, host, log },
        });
        const url = `http://${host.includes(":") ? `[${host}]` : host}:${service.port}`;
        const isOwnToken = options.token === undefined && !io.env["HEDDLE_TOKEN"];
        if (out.isJson) await out.json({ url, port: service.port, store: label, ...(isOwnToken && { token }) });
        else await out.data(isOwnToken ? `${url}/#/enter/${service.mintCode()}\ntoken ${token}` : url);
        await stopped;
        service.drain();
        await sleep(drainMs);
        await service.stop(graceMs);
      } finally {
        await store.close();
      }
      return EXIT.ok;
    });
  },
});

/** On this machine only, a new token will do. In a network, all processes need the same one. */
function ownToken(host: string): string {
  if (LOOPBACK.test(host)) return randomSecret();
  const message = `heddle serve on ${host} needs a token, because others can reach it. Set HEDDLE_TOKEN to 16 random characters or more.`;
  throw new CliError({ code: "token_missing", exit: EXIT.usage, message });
}
