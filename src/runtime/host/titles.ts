import type { AnyAgent } from "../../agent/definition/config.ts";
import { type ModelChoice, qualifiedModelName, staticModels } from "../../agent/definition/language-model.ts";
import type { ModelAnswer } from "../../agent/model-call.ts";
import type { ThreadInfo, ThreadStore } from "../../stores/port.ts";
import { firstWords } from "../../stores/sums.ts";
import type { Entry } from "../../thread/entry.ts";
import { contentText, type Message } from "../../thread/message.ts";
import { withRetries } from "../model/call.ts";
import { findModels } from "../model/find-models.ts";
import type { RuntimePorts } from "../ports.ts";
import { retryStore } from "../session/store-retry.ts";
import { hookAnswer } from "../time-limits.ts";

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
  /** Aborted when the host stops. */
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
  readonly #busy = new Set<string>();

  constructor(options: TitleOptions, at: TitlePorts) {
    this.#options = options;
    this.#at = at;
  }

  /** A request of the thread was answered. Returns at once. */
  answered(threadId: string, agent: AnyAgent): void {
    if (this.#busy.has(threadId) || this.#at.stopped.aborted) return;
    this.#busy.add(threadId);
    const failed = (error: unknown): void => {
      const why = error instanceof Error ? error.message : String(error);
      if (!this.#at.stopped.aborted) this.#at.warn(`Thread ${threadId} has no title yet: ${why}`);
    };
    void this.#write(threadId, agent)
      .catch(failed)
      .finally(() => this.#busy.delete(threadId));
  }

  async #write(threadId: string, agent: AnyAgent): Promise<void> {
    const { store, ports } = this.#at;
    const { threads } = await retryStore(ports, () => store.list({ prefix: threadId, order: "id", limit: 1 }));
    if (threads[0]?.id !== threadId || hasTitle(threads[0])) return;
    const thread = await retryStore(ports, () => store.load(threadId, { last: LAST }));
    const conversation = { threadId, ...textsIn(thread?.toArray() ?? []) };
    if (conversation.question === "") return;
    const { text, call } = await this.#made(conversation, agent);
    const title = firstWords(text.replaceAll(/^[\s"'“”„«»#*]+|[\s"'“”«».*]+$/g, ""));
    if (title === "") throw new Error("The title is empty.");
    const note = { kind: "note", payload: { title, ...(call && { call }) } } as const;
    await store.append(threadId, note, { metadata: { generatedTitle: title }, create: false });
  }

  async #made(
    conversation: TitledConversation,
    agent: AnyAgent,
  ): Promise<{ readonly text: string; readonly call?: CallRecord }> {
    const { ports, stopped: signal } = this.#at;
    const { write } = this.#options;
    const limit = { ports, timeoutMs: agent.hookTimeoutMs, signal };
    if (write !== undefined) {
      const text: unknown = await hookAnswer(limit, HOOK, () => write(conversation, { signal })); // it may be untyped code
      return { text: typeof text === "string" ? text : "" };
    }
    const { modelMaxRetries, modelRetryBackoffMs, modelRetryBackoffFactor, streaming, streamIdleTimeoutMs } = agent;
    const [model] = await this.#models(conversation.threadId, agent);
    if (model === undefined)
      throw new Error("The agent's `model` is a function. Name the model for titles: titles: { model }.");
    const { instructions = INSTRUCTIONS } = this.#options;
    const messages: readonly Message[] = [
      { role: "system", content: instructions },
      { role: "user", content: `User: ${conversation.question}\n\nAssistant: ${conversation.answer}` },
    ];
    const call = { model, messages, streaming, idleTimeoutMs: streamIdleTimeoutMs, signal, ports };
    const retries = { modelMaxRetries, modelRetryBackoffMs, modelRetryBackoffFactor };
    const answer = await withRetries(call, retries);
    const { usage, finishReason } = answer;
    return { text: contentText(answer.content), call: { model: qualifiedModelName(model), usage, finishReason } };
  }

  async #models(threadId: string, definition: AnyAgent): ReturnType<typeof findModels> {
    const { ports, stopped, resolveModel, warn } = this.#at;
    const onError = (error: unknown): void => warn(`Thread ${threadId}: ${String(error)}`);
    const hookLimit = { ports, timeoutMs: definition.hookTimeoutMs, signal: stopped };
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

type CallRecord = Pick<ModelAnswer, "usage" | "finishReason"> & { readonly model: string };

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
