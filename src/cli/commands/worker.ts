import { AgentHost } from "../../runtime/host/agent-host.ts";
import type { WorkOptions } from "../../runtime/host/options.ts";
import { agentsOf, exported, moduleIn } from "../agent.ts";
import { defineCommand, STORE_OPTIONS, wholeNumber } from "../command.ts";
import { untilStopped } from "../interrupts.ts";
import { EXIT } from "../io.ts";
import { openNamedStore } from "../studio-client.ts";

const CONCURRENCY = 100;
const GRACE_S = 30;

export const worker = defineCommand({
  args: "<file>",
  options: {
    concurrency: {
      type: "string",
      short: "c",
      value: "number",
      help: `the most model calls at once; default ${CONCURRENCY}`,
    },
    grace: {
      type: "string",
      value: "seconds",
      help: `how long work may go on after Ctrl-C or SIGTERM; default ${GRACE_S}`,
    },
    ...STORE_OPTIONS,
  },
  notes: [
    "<file> is a module that exports one or more agents. The worker takes threads of these agents that have something to do and no",
    "living process: posted asks, times that have come, and requests of processes that died. Start as many as you like.",
    "`export const work = { … }` has limits of host.work, such as rate and modelCalls.",
    "Ctrl-C or SIGTERM stops it. Work that does not end in time is left for another worker. A second one ends it at once.",
  ],
  examples: [
    { run: "heddle worker agent.ts", does: "run the threads of ./heddle.db that no process has" },
    { run: "heddle worker agent.ts -c 20 --grace 5", does: "at most 20 model calls at once" },
  ],
  run: async ({ io, out, args: [file = ""], options }) => {
    const concurrency = wholeNumber(options.concurrency, "--concurrency", 1) ?? CONCURRENCY;
    const graceMs = 1000 * (wholeNumber(options.grace, "--grace") ?? GRACE_S);
    const module = await moduleIn(io, file);
    const agents = agentsOf(module, file);
    return untilStopped(io, async (stopped) => {
      const { store, label } = await openNamedStore(io, options, true);
      try {
        const warn = (message: string): void =>
          void out.info(`${out.paintError("yellow", "warning:")} ${message.split("\n")[0]}`);
        const host = AgentHost.create({ agents, store, warn });
        host.work({ ...exported<WorkOptions>(module, "work", file), concurrency });
        const names = agents.map(({ name }) => name);
        if (out.isJson) await out.json({ agents: names, store: label, concurrency });
        else
          await out.info(
            `Working on ${label} for ${names.join(", ")}, with at most ${concurrency} model calls at once.`,
          );
        await stopped;
        await out.info(out.paintError("dim", "Stopping. Press Ctrl-C again to exit at once."));
        await host.stop({ graceMs });
      } finally {
        await store.close();
      }
      return EXIT.ok;
    });
  },
});
