import { cmd } from "../../agent/cmd.ts";
import type { AnyAgent } from "../../agent/definition/config.ts";
import { isAgent } from "../../agent/definition/define-agent.ts";
import type { DirectAgent, DirectDirective, DirectSignal } from "../../agent/direct/agent.ts";
import type { CommandOptions } from "../../agent/direct/decide.ts";
import type { Directive } from "../../agent/directive.ts";
import { type ReactAgent, reactAgent } from "../../agent/react/agent.ts";
import { restore } from "../../agent/react/restore.ts";
import { type ReactSettings, reactSettings } from "../../agent/react/settings.ts";
import { evolve } from "../../agent/react/state.ts";
import type { Signal } from "../../agent/signal.ts";
import { settingsFor } from "../../runtime/server/settings.ts";
import type { EntryInput } from "../../thread/entry.ts";
import type { Ports } from "../../thread/ports.ts";
import { Thread } from "../../thread/thread.ts";
import { SpecificationOutcome } from "./outcome.ts";

/** The history of a specification: existing entries and earlier signals. */
export type SpecificationHistory<AnySignal> = readonly (EntryInput | AnySignal)[];

/** A test of an agent by example. */
export interface Specification<Agent, AnySignal extends object, AnyDirective extends object> {
  /** Sets the history: entries of the thread and earlier signals, in order. */
  given(history: SpecificationHistory<AnySignal>): Specification<Agent, AnySignal, AnyDirective>;
  /** Sends the signal under test. */
  when(signal: AnySignal, options?: CommandOptions): SpecificationOutcome<Agent, AnyDirective>;
}

/**
 * Tests an agent by example: given a history, when a signal comes, then it writes these entries and returns these
 * directives. Every specification starts on an empty thread, with numbered ids (req_1, run_1, call_1, entry_1) and a
 * counting clock. Takes settings, a ReAct agent or a Direct agent. For an agent of `defineAgent` it is asynchronous: `await
 * specify(agent)`. If its prompt is a function, pass the text with the signal: `askSignal("Hi", { systemPrompt })`.
 *
 * @example
 * specify({ maxIterations: 1 })
 *   .given([askSignal("What's 2+2?")])
 *   .when(modelTextSignal("call_1", "4"))
 *   .then(
 *     [{ kind: "ai_message", payload: { role: "assistant", content: "4" } }],
 *     [{ type: "emit", event: { kind: "request_completed" } }, { type: "stop", status: "completed" }],
 *   );
 */
export function specify(of?: Partial<ReactSettings> | ReactAgent): Specification<ReactAgent, Signal, Directive>;
export function specify<Context>(
  of: DirectAgent<Context>,
): Specification<DirectAgent<Context>, DirectSignal, DirectDirective>;
export function specify(of: AnyAgent): Promise<Specification<ReactAgent, Signal, Directive>>;
export function specify<Context>(
  of: Partial<ReactSettings> | ReactAgent | DirectAgent<Context> | AnyAgent = {},
):
  | Specification<ReactAgent, Signal, Directive>
  | Specification<DirectAgent<Context>, DirectSignal, DirectDirective>
  | Promise<Specification<ReactAgent, Signal, Directive>> {
  if (isAgent(of)) return specifyAgent(of);
  return isDirect<Context>(of) ? specifyDirect(of, []) : specifyReact(of, []);
}

async function specifyAgent(agent: AnyAgent): Promise<Specification<ReactAgent, Signal, Directive>> {
  return specifyReact(await settingsFor(agent), []);
}

function specifyReact(
  of: Partial<ReactSettings> | ReactAgent,
  history: SpecificationHistory<Signal>,
): Specification<ReactAgent, Signal, Directive> {
  return {
    given: (more) => specifyReact(of, [...history, ...more]),
    when: (signal) => {
      const before = history.reduce<ReactAgent>(
        (agent, item) => (isSignal(item) ? cmd(agent, item).agent : withReactEntry(agent, item)),
        freshReact(of, numberedPorts()),
      );
      return SpecificationOutcome.of(before, () => cmd(before, signal));
    },
  };
}

function specifyDirect<Context>(
  of: DirectAgent<Context>,
  history: SpecificationHistory<DirectSignal>,
): Specification<DirectAgent<Context>, DirectSignal, DirectDirective> {
  return {
    given: (more) => specifyDirect(of, [...history, ...more]),
    when: (signal, options) => {
      const ports = numberedPorts();
      const start: DirectAgent<Context> = {
        ...of,
        ports,
        thread: Thread.create({ clock: ports.clock, ids: ports.ids }),
        running: [],
      };
      const before = history.reduce<DirectAgent<Context>>((agent, item) => {
        return isSignal(item) ? cmd(agent, item).agent : withDirectEntry(agent, item);
      }, start);
      return SpecificationOutcome.of(before, () => cmd(before, signal, options));
    },
  };
}

function freshReact(of: Partial<ReactSettings> | ReactAgent, ports: Ports): ReactAgent {
  if (!("strategy" in of)) return reactAgent(reactSettings(of), ports);
  return restore(of.settings, Thread.create({ clock: ports.clock, ids: ports.ids }), ports);
}

/** Adds an existing entry and updates the state from it, as `restore` does. */
function withReactEntry(agent: ReactAgent, entry: EntryInput): ReactAgent {
  const thread = agent.thread.append({ id: agent.ports.ids("entry"), at: agent.ports.clock(), ...entry });
  const state = thread.slice(agent.thread.rev, thread.lastSeq).reduce(evolve, agent.state);
  return { ...agent, thread, state };
}

function withDirectEntry<Context>(agent: DirectAgent<Context>, entry: EntryInput): DirectAgent<Context> {
  const { ids, clock } = agent.ports;
  return { ...agent, thread: agent.thread.append({ id: ids("entry"), at: clock(), ...entry }) };
}

function isDirect<Context>(of: object): of is DirectAgent<Context> {
  return "strategy" in of && of.strategy === "direct";
}

function isSignal<AnySignal extends { readonly type: string }>(item: EntryInput | AnySignal): item is AnySignal {
  return "type" in item;
}

/**
 * Returns deterministic ports: ids are numbered per prefix, and each call of the clock advances it by one millisecond.
 * @example
 * const { ids } = numberedPorts();
 * ids("call"); // "call_1"
 */
export function numberedPorts(): Ports {
  const counts = new Map<string, number>();
  let now = 0;
  return {
    clock: () => now++,
    ids: (prefix) => {
      const count = (counts.get(prefix) ?? 0) + 1;
      counts.set(prefix, count);
      return `${prefix}_${count}`;
    },
  };
}
