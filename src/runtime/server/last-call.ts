import type { AnyAgent } from "../../agent/definition/config.ts";
import type { LlmStream } from "../../agent/directive.ts";
import type { CallEnvironment } from "../../agent/model-call.ts";
import type { ReactAgent } from "../../agent/react/agent.ts";
import { counterFor, toolsFor } from "../../agent/react/call-context.ts";
import { ContextPolicy } from "../../projection/policy/policy.ts";
import type { ExplainedEntry } from "../../projection/projection.ts";
import { isPlainObject, type JsonObject } from "../../thread/json.ts";
import type { ToolSpec } from "../../thread/message.ts";

/** Agents that were warned of, each once in this process, however many threads it serves. */
const warned = new WeakSet<AnyAgent>();

/** The model call that was made last here: what it was shown, and from what. */
export class LastCall {
  readonly #definition: AnyAgent;
  readonly #warn: (message: string) => void;
  #environment: string | undefined;
  #warned: boolean;
  #call: { readonly directive: LlmStream; readonly agent: ReactAgent } | undefined;

  constructor(agent: ReactAgent, definition: AnyAgent, warn: (message: string) => void) {
    this.#definition = definition;
    const [newest, ...older] = environmentsIn(agent);
    this.#environment = newest;
    this.#warned = older.length > 0; // it changed before, and was warned of then
    this.#warn = warn;
  }

  made(directive: LlmStream, agent: ReactAgent): void {
    this.#call = { directive, agent };
    this.#compare(directive.basis.environment, agent.thread.id);
  }

  /** The messages of a call, as long as it is the last one. */
  messagesOf(callId: string): LlmStream["messages"] {
    return this.#call?.directive.callId === callId ? this.#call.directive.messages : [];
  }

  /** What became of every entry in the view of this call; before the first, in the view that one would have. */
  explain(now: ReactAgent): readonly ExplainedEntry[] {
    const { settings } = now;
    const { projector, model, readers } = settings;
    const common = { model, readers };
    if (this.#call === undefined) {
      const { run, last } = now.state;
      const asked = run ?? last?.run;
      const { systemPrompt: system, contextPolicy: definition } = settings;
      const policy = ContextPolicy.resolve({
        request: asked?.options.contextPolicy,
        state: now.contextPolicy,
        definition,
        model,
      });
      const tools = asked === undefined ? settings.tools : toolsFor(now, asked);
      const tokenCounter = counterFor(policy, settings, now.thread);
      return projector.explain({ ...common, thread: now.thread, policy, system, tools, tokenCounter });
    }
    const { directive, agent } = this.#call;
    const policy = directive.blobs[0] as unknown as ContextPolicy; // as the core puts them
    const { systemPrompt: system, tools } = directive.blobs[1] as unknown as CallEnvironment;
    const { thread } = agent;
    return projector.explain({
      ...common,
      thread: directive.basis.basisLastSeq < thread.lastSeq ? thread.upTo(directive.basis.basisLastSeq) : thread,
      policy,
      system,
      tools: tools as unknown as readonly ToolSpec[],
      lane: directive.basis.lane,
      tokenCounter: counterFor(policy, agent.settings, thread),
    });
  }

  /** Another prompt or other tools empty the provider's cache, which is easily overlooked. */
  #compare(environment: string, threadId: string): void {
    const isOther = this.#environment !== undefined && this.#environment !== environment;
    this.#environment = environment;
    if (!isOther || this.#warned || warned.has(this.#definition)) return;
    this.#warned = true;
    warned.add(this.#definition);
    this.#warn(
      `Agent "${this.#definition.name}", thread ${threadId}: the system prompt, the tools or the settings changed between two calls. ` +
        "The provider's prompt cache starts anew each time they do.",
    );
  }
}

/** Of the calls that the loaded log tells of, each once, the newest first; two are enough. */
function environmentsIn({ thread }: ReactAgent): readonly string[] {
  const found = new Set<string>();
  for (let seq = thread.lastSeq; seq >= thread.firstSeq && found.size < 2; seq--) {
    const call = (thread.at(seq)?.payload as JsonObject | undefined)?.["call"]; // payloads are JSON
    if (isPlainObject(call) && typeof call["environment"] === "string") found.add(call["environment"]);
  }
  return [...found];
}
