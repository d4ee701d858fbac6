import type { AnyAgent } from "../agent/definition/config.ts";
import { checkServerOptions } from "./option-names.ts";
import type { ServerOptions } from "./server/options.ts";
import type { AgentServer as Port } from "./server/port.ts";
import { startServer } from "./server/start.ts";

/** An agent on one thread, which it holds as long as it runs: of two processes only one gets it. */
export type AgentServer<Given extends AnyAgent = AnyAgent> = Port<Given>;

/**
 * Starts agents. A thread with a request that a crash has interrupted is claimed first and then gone on with, or closed,
 * as `recover` says; one that somebody else holds is a ThreadHeldError.
 *
 * @example
 * const agent = defineAgent({ model: scriptedModel(["4"]) });
 * const server = await AgentServer.start({ agent, store: memoryStore() });
 * const request = await server.ask("What's 2+2?");
 * const { text } = await request.result; // "4"
 * await server.stop();
 */
export const AgentServer = Object.freeze({
  async start<Given extends AnyAgent>(options: ServerOptions<Given>): Promise<AgentServer<Given>> {
    checkServerOptions(options);
    return startServer(options);
  },
});
