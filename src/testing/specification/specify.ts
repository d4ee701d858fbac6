import { cmd } from "../../agent/cmd.ts";
import type { AnyAgent } from "../../agent/definition/agent.ts";
import { isAgent } from "../../agent/definition/define-agent.ts";
import type { DirectAgent } from "../../agent/direct/agent.ts";
import type { CommandOptions } from "../../agent/direct/decide.ts";
import type { DirectDirective, DirectSignal } from "../../agent/direct/signal.ts";
import type { Directive } from "../../agent/directive.ts";
import { type ReactAgent, reactAgent } from "../../agent/react/agent.ts";
import { restore } from "../../agent/react/restore.ts";
import { type ReactSettings, reactSettings } from "../../agent/react/settings.ts";
import { evolve } from "../../agent/react/state.ts";
import type { Signal } from "../../agent/signal.ts";
import type { EntryInput } from "../../thread/entry.ts";
import type { Ports } from "../../thread/ports.ts";
import { Thread } from "../../thread/thread.ts";
import { Outcome } from "./outcome.ts";
import { numberedPorts } from "./ports.ts";

/** The history of a specification: existing entries and earlier signals. */
export type Given<AnySignal> = readonly (EntryInput | AnySignal)[];

/** A test of an agent by example. */
export interface Specification<Agent, AnySignal extends object, AnyDirective extends object> {
  /** The history: entries of the thread and signals, in order. */
  given(history: Given<AnySignal>): Specification<Agent, AnySignal, AnyDirective>;
  /** The signal under test. */
  when(signal: AnySignal, options?: CommandOptions): Outcome<Agent, AnyDirective>;
}

/**
 * Tests an agent by example: given a history, when a signal comes, then it writes these entries and returns these
 * directives. Every specification starts on an empty thread, with numbered ids (req_1, run_1, call_1, entry_1) and a
 * counting clock. Takes settings, a ReAct agent or a Direct agent. For an agent of `defineAgent` it is asynchronous: `await
 * specify(agent)`. If its prompt is a function, pass the text with the signal: `asked("Hi", { systemPrompt })`.
 *
 * @example
 * specify({ maxIterations: 1 })
 *   .given([asked("What's 2+2?")])
 *   .when(modelSaid("call_1", "4"))
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
  if (isAgent(of)) return ofDefined(of);
  return isDirect<Context>(of) ? ofDirect(of, []) : ofReact(of, []);
}

async function ofDefined(agent: AnyAgent): Promise<Specification<ReactAgent, Signal, Directive>> {
  const { settingsFor } = await import("../../runtime/server/settings.ts");
  return ofReact(await settingsFor(agent), []);
}

function ofReact(
  of: Partial<ReactSettings> | ReactAgent,
  history: Given<Signal>,
): Specification<ReactAgent, Signal, Directive> {
  return {
    given: (more) => ofReact(of, [...history, ...more]),
    when: (signal) => {
      const before = history.reduce<ReactAgent>(
        (agent, item) => (isSignal(item) ? cmd(agent, item).agent : written(agent, item)),
        fresh(of, numberedPorts()),
      );
      return Outcome.of(before, () => cmd(before, signal));
    },
  };
}

function ofDirect<Context>(
  of: DirectAgent<Context>,
  history: Given<DirectSignal>,
): Specification<DirectAgent<Context>, DirectSignal, DirectDirective> {
  return {
    given: (more) => ofDirect(of, [...history, ...more]),
    when: (signal, options) => {
      const ports = numberedPorts();
      const start: DirectAgent<Context> = {
        ...of,
        ports,
        thread: Thread.create({ clock: ports.clock, ids: ports.ids }),
        running: [],
      };
      const before = history.reduce<DirectAgent<Context>>((agent, item) => {
        return isSignal(item) ? cmd(agent, item).agent : withEntry(agent, item);
      }, start);
      return Outcome.of(before, () => cmd(before, signal, options));
    },
  };
}

function fresh(of: Partial<ReactSettings> | ReactAgent, ports: Ports): ReactAgent {
  if (!("strategy" in of)) return reactAgent(reactSettings(of), ports);
  return {
    ...restore(of.settings, Thread.create({ clock: ports.clock, ids: ports.ids }), ports),
    contextPolicy: of.contextPolicy,
  };
}

/** Adds an existing entry: folds it into the state, as `restore` does. */
function written(agent: ReactAgent, entry: EntryInput): ReactAgent {
  const thread = agent.thread.append({ id: agent.ports.ids("entry"), at: agent.ports.clock(), ...entry });
  const state = thread.slice(agent.thread.rev, thread.lastSeq).reduce(evolve, agent.state);
  return { ...agent, thread, state };
}

function withEntry<Context>(agent: DirectAgent<Context>, entry: EntryInput): DirectAgent<Context> {
  const { ids, clock } = agent.ports;
  return { ...agent, thread: agent.thread.append({ id: ids("entry"), at: clock(), ...entry }) };
}

function isDirect<Context>(of: object): of is DirectAgent<Context> {
  return "strategy" in of && of.strategy === "direct";
}

function isSignal<AnySignal extends { readonly type: string }>(item: EntryInput | AnySignal): item is AnySignal {
  return "type" in item;
}
