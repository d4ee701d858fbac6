import { modelIdentity, qualifiedModelName } from "../../agent/definition/language-model.ts";
import { ProjectionError } from "../../projection/error.ts";
import type { ProjectionInput } from "../../projection/input/input.ts";
import type { Projection } from "../../projection/projection.ts";
import { createProjector, type Projector } from "../../projection/projector.ts";
import { isPlainObject, type JsonObject, type JsonValue } from "../../thread/json.ts";
import type { Part } from "../../thread/message.ts";
import { Thread } from "../../thread/thread.ts";

/** The model of a step: its name, or the model itself. */
export type StepModel =
  | string
  | { readonly provider: string; readonly modelId: string; readonly specificationVersion?: string | undefined };

/** Everything but the thread that a projection depends on. */
export type ModelLogInput = Omit<ProjectionInput, "thread" | "model" | "pending" | "previous">;

/** A list of ModelMessages as a thread, message after message, and which entries each of them is. */
export class ModelLog {
  readonly #projector: Projector = createProjector({ keep: 1 });
  readonly #input: ModelLogInput;
  readonly #model: StepModel;
  /** Of each entry, the index of its message. */
  readonly indexes: number[] = [];
  /** Of each message, how many entries it is. */
  readonly counts: number[] = [];
  readonly messages: object[] = [];
  /** Whether any model has thought in it. */
  hasThinking = false;
  readonly #askIndex: number;
  #thread = Thread.create({ id: "thread_of_a_step", clock: () => 0 });

  /** From `askIndex` on the messages belong to one request, whose ask is never cut away. */
  constructor(input: ModelLogInput, model: StepModel, askIndex: number) {
    this.#input = input;
    this.#model = model;
    this.#askIndex = askIndex;
  }

  /** Whether the list begins with the messages of this log, and has the same ask. */
  isBeginningOf(messages: readonly object[], askIndex: number): boolean {
    return askIndex === this.#askIndex && this.messages.every((message, index) => message === messages[index]);
  }

  /** Appends the messages that are not in the log. */
  take(messages: readonly object[]): void {
    for (const [index, message] of messages.entries()) {
      if (index >= this.messages.length) this.#add(message, index, index >= this.#askIndex);
    }
  }

  project(): Projection {
    return this.#projector.project({ ...this.#input, model: stepModelName(this.#model), thread: this.#thread });
  }

  payload(seq: number): JsonObject {
    return this.#thread.at(seq)?.payload ?? {};
  }

  #add(message: object, index: number, isOfRequest: boolean): void {
    const said = saidIn(message);
    const hasThinking = said.some(({ content }) => Array.isArray(content) && content.some(isThinking));
    this.hasThinking ||= hasThinking;
    const fingerprint = hasThinking ? this.#fingerprint() : undefined;
    const entries = said.map((payload, at) => ({
      id: `message_${index}_${at}`,
      kind: "ai_message",
      payload: { ...this.#signed(payload), ...(fingerprint !== undefined && { call: { fingerprint } }) },
      refs: isOfRequest ? { requestId: "request" } : {},
    }));
    this.#thread = this.#thread.append(entries);
    this.messages.push(message);
    this.counts.push(entries.length);
    for (const _ of entries) this.indexes.push(index);
  }

  /** What the call was shown that gave the next answer: a projection is a pure function, so it is what it was then. */
  #fingerprint(): string | undefined {
    try {
      return this.project().meta.fingerprint;
    } catch (error) {
      if (!ProjectionError.isInstance(error)) throw error;
      return undefined; // nothing of ours led to it
    }
  }

  /** Messages do not say whose their thinking is; within a list it is this model's, until what was before it changes. */
  #signed(payload: JsonObject): JsonObject {
    const { content } = payload;
    if (!Array.isArray(content)) return payload;
    const maker = typeof this.#model === "string" ? makerIn(this.#model) : modelIdentity(this.#model);
    const { provider, modelId: model } = maker;
    return {
      ...payload,
      content: content.map((part) => (isThinking(part) ? { ...(part as Part), provider, model } : part)),
    };
  }
}

/** The name of the model of a step, as the model table knows it. */
export function stepModelName(model: StepModel): string {
  return typeof model === "string" ? model : qualifiedModelName(model);
}

function makerIn(name: string): { readonly provider: string; readonly modelId: string } {
  const [, provider = "unknown", modelId = name] = /^([^:/]*)[:/](.*)$/.exec(name) ?? [];
  return { provider, modelId };
}

function isThinking(part: JsonValue): boolean {
  return isPlainObject(part) && part["type"] === "thinking";
}

/** What a message says, as entries of an agent hold it. */
function saidIn(message: object): readonly JsonObject[] {
  const { role, content } = message as { readonly role?: unknown; readonly content?: unknown };
  if (role === "system") return [{ contextRef: "default", role, content: String(content) }];
  return Thread.fromMessages([message], { format: "model-messages" })
    .toArray()
    .map(({ payload }) => {
      const { original: _, ...said }: JsonObject = payload;
      const { toolCalls } = said;
      return Array.isArray(toolCalls) ? { ...said, toolCalls: toolCalls.map(withoutApproval) } : said;
    });
}

/** A step is shown its calls without approvals: the loop has run what was approved before it asks for a step. */
function withoutApproval(call: JsonValue): JsonValue {
  const { approval: _, ...rest } = call as JsonObject; // read as a call a moment ago
  return rest;
}
