import type { AnyAgent } from "../../agent/definition/config.ts";
import { type ModelChoice, qualifiedModelName, staticModels } from "../../agent/definition/language-model.ts";
import type { CallRecord, Usage } from "../../agent/model-call.ts";
import type { ThreadInfo, ThreadStore } from "../../stores/port.ts";
import { firstWords } from "../../stores/sums.ts";
import type { Entry } from "../../thread/entry.ts";
import { contentText, type Message } from "../../thread/message.ts";
import { countMessage, countText, heuristic } from "../../tokens/counter.ts";
import { GRACE_MS, RELEASE_LIMIT_MS } from "../live/stopping.ts";
import { withRetries } from "../model/call.ts";
import { ModelError } from "../model/failure.ts";
import { findModels } from "../model/find-models.ts";
import type { RuntimePorts } from "../ports.ts";
import type { StopOptions } from "../server/options.ts";
import { retryStore } from "../session/store-retry.ts";
import { hookAnswer, inTime } from "../time-limits.ts";

/** How the titles of threads are made. */
export interface TitleOptions {
  /** The model that writes them, or its name. Default: the first model of the agent. */
  readonly model?: ModelChoice | undefined;
  /** The instructions for the model. Default: at most six words, in the language of the user. */
  readonly instructions?: string | undefined;
  /** Makes the title in place of a model. A title that is empty is not stored. Default: the model writes it. */
  readonly write?:
    | ((conversation: TitledConversation, options: { readonly signal: AbortSignal }) => string | Promise<string>)
    | undefined;
}

/** The first question of a thread that has no title, and the newest answer. */
export interface TitledConversation {
  readonly threadId: string;
  readonly question: string;
  readonly answer: string;
}

interface HostParts {
  readonly ports: RuntimePorts;
  readonly warn: (message: string) => void;
  /** Aborted when the host stops. Then no title begins. */
  readonly stopped: AbortSignal;
}

interface TitlePorts extends HostParts {
  readonly store: ThreadStore;
  readonly resolveModel?: AnyAgent["resolveModel"];
}

const INSTRUCTIONS =
  "Write a title for the conversation: at most six words, in the language of the user, without quotation marks and without a period. Answer with the title only.";
/** How much of a question or an answer the model is shown. */
const MAX_LETTERS = 2000;
/** The entries that are searched for a question and its answer. */
const LAST = 64;

const HOOK = { name: "`titles.write`", code: "title_failed" };

/**
 * Gives threads a title after their first answer. It is stored beside the title of a person, which always wins. A failure is a
 * warning, and the next answer tries again.
 */
class TitleWriter {
  readonly #options: TitleOptions;
  readonly #at: TitlePorts;
  /** The threads whose title is being written. */
  readonly #busy = new Map<string, Writing>();

  constructor(options: TitleOptions, at: TitlePorts) {
    this.#options = options;
    this.#at = at;
  }

  /** A request of the thread was answered. Returns at once. */
  answered(threadId: string, agent: AnyAgent): void {
    if (this.#busy.has(threadId) || this.#at.stopped.aborted) return;
    const over = new AbortController();
    const { signal } = over;
    const failed = (error: unknown): void => {
      const why = error instanceof Error ? error.message : String(error);
      if (!signal.aborted) this.#at.warn(`Thread ${threadId} has no title yet: ${why}`);
    };
    const ended = this.#write(threadId, agent, signal)
      .catch(failed)
      .finally(() => this.#busy.delete(threadId));
    this.#busy.set(threadId, { over, ended });
  }

  /** Waits for the titles that are being written. Those that are late are aborted, and the store gets some time for their notes. */
  async stop({ graceMs = GRACE_MS }: StopOptions): Promise<void> {
    const busy = [...this.#busy.values()];
    const ended = Promise.all(busy.map((one) => one.ended));
    if (graceMs > 0 && (await inTime(this.#at.ports, graceMs, ended))) return;
    for (const { over } of busy) over.abort();
    await inTime(this.#at.ports, RELEASE_LIMIT_MS, ended);
  }

  async #write(threadId: string, agent: AnyAgent, signal: AbortSignal): Promise<void> {
    const { store, ports } = this.#at;
    const { threads } = await retryStore(ports, () => store.list({ prefix: threadId, order: "id", limit: 1 }));
    if (threads[0]?.id !== threadId || hasTitle(threads[0]) || "parent" in threads[0].metadata) return;
    const thread = await retryStore(ports, () => store.load(threadId, { last: LAST }));
    const conversation = { threadId, ...textsIn(thread?.toArray() ?? []) };
    if (conversation.question === "") return;
    const { text, call, error } = await this.#made(conversation, agent, signal);
    const title = firstWords(text.replaceAll(/^[\s"'“”„«»#*]+|[\s"'“”«».*]+$/g, ""));
    const payload = { ...(title !== "" && { title }), ...(call && { call }) };
    const options = { ...(title !== "" && { metadata: { generatedTitle: title } }), create: false };
    // The call of a title that failed was paid for too.
    if (title !== "" || call !== undefined) await store.append(threadId, { kind: "note", payload }, options);
    if (title === "") throw error ?? new Error("The title is empty.");
  }

  async #made(conversation: TitledConversation, agent: AnyAgent, signal: AbortSignal): Promise<Made> {
    const { ports } = this.#at;
    const { write } = this.#options;
    const limit = { ports, timeoutMs: agent.hookTimeoutMs, signal };
    if (write !== undefined) {
      const text: unknown = await hookAnswer(limit, HOOK, () => write(conversation, { signal })); // it may be untyped code
      return { text: typeof text === "string" ? text : "" };
    }
    const { modelMaxRetries, modelRetryBackoffMs, modelRetryBackoffFactor, streaming, streamIdleTimeoutMs } = agent;
    const [choice] = await this.#models(conversation.threadId, agent, signal);
    if (choice === undefined)
      throw new Error("The agent's `model` is a function. Name the model for titles: titles: { model }.");
    const { instructions = INSTRUCTIONS } = this.#options;
    const messages: readonly Message[] = [
      { role: "system", content: instructions },
      { role: "user", content: `User: ${conversation.question}\n\nAssistant: ${conversation.answer}` },
    ];
    const estimateUsage = (received: string): Usage => ({
      inputTokens: messages.reduce((sum, message) => sum + countMessage(message, heuristic), 0),
      outputTokens: countText(received, heuristic),
    });
    const idleTimeoutMs = streamIdleTimeoutMs;
    const call = { model: choice, messages, streaming, idleTimeoutMs, signal, estimateUsage, ports };
    const retries = { modelMaxRetries, modelRetryBackoffMs, modelRetryBackoffFactor };
    const model = qualifiedModelName(choice);
    try {
      const { usage, finishReason, content } = await withRetries(call, retries);
      return { text: contentText(content), call: { model, usage, finishReason } };
    } catch (error) {
      const usage = ModelError.isInstance(error) ? error.partial?.usage : undefined;
      if (usage === undefined || Object.keys(usage).length === 0) throw error;
      return { text: "", call: { model, usage, finishReason: "error" }, error };
    }
  }

  async #models(threadId: string, definition: AnyAgent, signal: AbortSignal): ReturnType<typeof findModels> {
    const { ports, resolveModel, warn } = this.#at;
    const onError = (error: unknown): void => warn(`Thread ${threadId}: ${String(error)}`);
    const hookLimit = { ports, timeoutMs: definition.hookTimeoutMs, signal };
    const { model = staticModels(definition.model).slice(0, 1) } = this.#options;
    return findModels({ options: { definition, resolveModel, threadId, onError }, hookLimit }, model);
  }
}

/** The writer of a host. Undefined when threads get no titles. */
export function titleWriter(
  {
    titles = false,
    store,
    resolveModel,
  }: Omit<TitlePorts, keyof HostParts> & { readonly titles?: boolean | TitleOptions | undefined },
  parts: HostParts,
): TitleWriter | undefined {
  return titles === false
    ? undefined
    : new TitleWriter(titles === true ? {} : titles, { store, resolveModel, ...parts });
}

interface Made {
  readonly text: string;
  readonly call?: Pick<CallRecord, "model" | "usage" | "finishReason">;
  /** Why there is no text. */
  readonly error?: unknown;
}

interface Writing {
  readonly over: AbortController;
  readonly ended: Promise<void>;
}

function hasTitle({ title }: ThreadInfo): boolean {
  return title !== undefined && title !== "";
}

function textsIn(entries: readonly Entry[]): Pick<TitledConversation, "question" | "answer"> {
  const texts = entries.flatMap(({ kind, payload }) => {
    const { role, content } = payload as Partial<Message>; // of an entry with this kind
    const isMessage = kind === "ai_message" && (role === "user" || role === "assistant");
    const text = isMessage ? contentText(content ?? "").trim() : "";
    return text === "" ? [] : [{ role, text: text.slice(0, MAX_LETTERS).toWellFormed() }];
  });
  const question = texts.find(({ role }) => role === "user")?.text ?? "";
  return { question, answer: texts.findLast(({ role }) => role === "assistant")?.text ?? "" };
}
