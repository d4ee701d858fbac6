import { StudioError } from "../../studio/http/response.ts";
import { startStudio } from "../../studio/start-studio.ts";
import { agentsFor } from "../agent.ts";
import { AGENT_OPTIONS, defineCommand, STORE_OPTIONS, wholeNumber } from "../command.ts";
import { untilStopped } from "../interrupts.ts";
import { badUsage, CliError, EXIT } from "../io.ts";
import { openNamedStore } from "../studio-client.ts";

export const studio = defineCommand({
  args: "",
  options: {
    port: {
      type: "string",
      short: "p",
      value: "number",
      help: "default 4747; 0 takes any free port; also HEDDLE_PORT",
    },
    host: {
      type: "string",
      value: "address",
      help: "default 127.0.0.1: only this machine can connect",
    },
    hosts: {
      type: "string",
      value: "names",
      help: "more allowed Host headers, as behind a proxy: studio.example.com,…",
    },
    "read-only": { type: "boolean", help: "refuse everything that asks or changes" },
    token: {
      type: "string",
      value: "token",
      help: "access token of every client; also HEDDLE_TOKEN; default: a new one",
    },
    "import-limit": { type: "string", value: "MiB", help: "size limit of an import; default 256" },
    open: { type: "boolean", help: "open the page in the browser" },
    ...STORE_OPTIONS,
    ...AGENT_OPTIONS,
  },
  notes: [
    "Prints its address on stdout. The address works once, in one browser; that browser keeps the token.",
    "Ctrl-C stops it. A running request is resumed at the next start.",
  ],
  examples: [
    { run: "heddle studio", does: "serve ./heddle.db on http://127.0.0.1:4747" },
    { run: "heddle studio --port 0 --open", does: "take any free port, and open the browser" },
    { run: "heddle studio --port 0 --read-only --store sqlite:./heddle.db", does: "allow reading only" },
  ],
  run: async ({ io, out, options }) => {
    const port = portOf(options.port ?? (io.env["HEDDLE_PORT"] || "4747"));
    const token = options.token ?? (io.env["HEDDLE_TOKEN"] || undefined);
    return untilStopped(io, async (stopped) => {
      const { store, label } = await openNamedStore(io, options, true);
      try {
        const agents = await agentsFor(io, out, options.agent);
        const warn = (message: string): void =>
          void out.info(`${out.paintError("yellow", "warning:")} ${message.split("\n")[0]}`);
        const { "read-only": readOnly, host } = options;
        const limit = wholeNumber(options["import-limit"], "--import-limit");
        const running = await startStudio({
          ...{ store, label, agents, port, host, readOnly, token, warn },
          hosts: options.hosts?.split(",").map((name) => name.trim()),
          importLimit: limit === undefined ? undefined : limit * 1024 * 1024,
        }).catch(portHint);
        try {
          if (out.isJson)
            await out.json({
              url: running.url,
              token: running.token,
              port: running.port,
              store: label,
              readOnly: readOnly === true,
            });
          else {
            await out.data(running.url);
            await out.info(out.paintError("dim", `For another browser or --server, the token is ${running.token}`));
          }
          if (options.open === true) io.open(running.url);
          await stopped;
          await out.info(out.paintError("dim", "Stopping. Press Ctrl-C again to exit at once."));
        } finally {
          await running.stop();
        }
      } finally {
        await store.close();
      }
      return EXIT.ok;
    });
  },
});

function portOf(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port < 65_536) return port;
  throw badUsage("--port must be a number from 0 to 65535.");
}

function portHint(error: unknown): never {
  if (!StudioError.isInstance(error) || error.code !== "port_in_use") throw error;
  const { code, message } = error;
  const how = "On the command line: --port 4848, or HEDDLE_PORT.";
  throw new CliError({ code, exit: EXIT.refused, message: `${message} ${how}`, cause: error });
}
