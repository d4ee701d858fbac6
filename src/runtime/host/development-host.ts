import type { AnyAgent } from "../../agent/definition/config.ts";
import { checkName } from "../../thread/options.ts";
import type { AgentHost } from "./agent-host.ts";

/** The host of a key, shared by all evaluations of the module that makes it. */
interface HostSlot {
  host: AgentHost | undefined;
  /** The last replacement. The next one waits for it. */
  replaced: Promise<unknown>;
}

type HostSlots = { [key: string]: HostSlot | undefined };

const SLOTS = Symbol.for("heddle.developmentHosts");

/**
 * A host for development servers, which evaluate a module again after each edit. It stops the host that the module made before, so that
 * no thread waits for its lease, and resolves to the new one. With `NODE_ENV=production` it only calls `create`.
 *
 * `create` gets the stopped host, for its store. It is called once for each evaluation. If it throws, the promise rejects, and the next
 * evaluation tries again.
 *
 * @example
 * const agent = defineAgent({ model: scriptedModel(["4"]) });
 * const host = await developmentHost("chat", (before) => AgentHost.create({ agent, store: before?.store ?? memoryStore() }));
 * await host.stop();
 */
export async function developmentHost<Agent extends AnyAgent>(
  key: string,
  create: (before: AgentHost<Agent> | undefined) => AgentHost<Agent> | Promise<AgentHost<Agent>>,
): Promise<AgentHost<Agent>> {
  checkName("key", key);
  if (isProduction()) return create(undefined);
  const slot = slotOf(key);
  const replaced = slot.replaced.then(async () => {
    // Running tools are not waited for: the edit may be the fix of one that hangs.
    await slot.host?.stop({ graceMs: 0 });
    const host = await create(slot.host as AgentHost<Agent> | undefined); // made by the same module
    slot.host = host as AgentHost; // only this module uses it
    return host;
  });
  slot.replaced = replaced.catch(() => undefined);
  return newest(slot, await replaced);
}

function slotOf(key: string): HostSlot {
  const shared = globalThis as { [SLOTS]?: HostSlots }; // no other code has this symbol
  shared[SLOTS] ??= Object.create(null) as HostSlots; // without inherited keys
  const slots = shared[SLOTS];
  slots[key] ??= { host: undefined, replaced: Promise.resolve() };
  return slots[key];
}

/** A bundler may evaluate a module twice, such as for pages and for routes. Then both use the newest host. */
function newest<Agent extends AnyAgent>(slot: HostSlot, made: AgentHost<Agent>): AgentHost<Agent> {
  return new Proxy(made, {
    get(_, name) {
      const host = slot.host ?? made;
      const value: unknown = Reflect.get(host, name, host);
      return typeof value === "function" ? value.bind(host) : value;
    },
  });
}

function isProduction(): boolean {
  const { process } = globalThis as { readonly process?: { readonly env?: { readonly NODE_ENV?: string } } }; // absent outside of Node
  return process?.env?.NODE_ENV === "production";
}
