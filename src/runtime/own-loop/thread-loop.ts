import { modelIdentity, type ProviderModel } from "../../agent/definition/language-model.ts";
import { describe, type JsonValue } from "../../thread/json.ts";
import { valueText } from "../../thread/message.ts";
import { parseStructure } from "../../thread/messages/to-messages.ts";
import { checkName, type OptionNames } from "../../thread/options.ts";
import { AnswerBuilder } from "../model/answer.ts";
import { plainJson, type RawPart, rawPart } from "../model/provider-values.ts";
import { specOf } from "../model/specification.ts";
import { checkDuration, checkStore, checkTexts, checkUIOptions, invalid } from "../option-names.ts";
import type { UIChatMessage } from "../ui-messages/message.ts";
import { toUIMessages } from "../ui-messages/to-ui-messages.ts";

import { type AnswerFacts, LoopLog, type ModelOptions, type ThreadLoopOptions } from "./loop-log.ts";

/** One request of your own loop on a thread: its model and its tools write the log. */
export interface ThreadLoop {
  /**
   * The model to call in `streamText`, `generateText` or a `ToolLoopAgent`. The new messages of its prompt are committed before
   * the call, the model is shown the projection of the thread, and the answer is committed before its tools run.
   */
  readonly model: <Model extends ProviderModel>(model: Model) => Model;
  /** The tools, whose results are committed before any code gets them. A call that has a result in the log does not run again. */
  readonly tools: <Set extends object>(tools: Set) => Set;
  /** The messages of the page, as `save` got them, else from the entries of the log. A call without a result is closed. */
  readonly messages: () => Promise<UIChatMessage[]>;
  /** For `onEnd` of a UI message stream: keeps ids, metadata, data parts and approvals of the messages, and frees the thread. */
  readonly save: (messages: readonly object[]) => Promise<void>;
  /** Frees the thread for another loop. Not needed after `save`, or after an answer without calls. */
  readonly end: () => Promise<void>;
}

const NAMES: OptionNames<ThreadLoopOptions> = {
  store: true,
  threadId: true,
  policy: true,
  tokenCounter: true,
  cache: true,
  owner: true,
  claimWaitMs: true,
  idleMs: true,
};

/**
 * Keeps the log of a loop of the AI SDK: pass its model to `streamText`, `generateText` or a `ToolLoopAgent`. Make one for each
 * request. The prompt must be the whole conversation, as `useChat` posts it. A message that the log lacks is new. Where the two
 * differ, for an edit or another answer, a branch begins. While it runs, other loops get `thread_held`.
 *
 * @example
 * const loop = threadLoop({ store: memoryStore(), threadId: "thread_1" });
 * const { stream } = await loop.model(scriptedModel(["4"])).doStream({ prompt: [{ role: "user", content: [{ type: "text", text: "What's 2+2?" }] }] });
 * await loop.end();
 */
export function threadLoop(options: ThreadLoopOptions): ThreadLoop {
  checkUIOptions("threadLoop", options, NAMES);
  const { store, threadId, owner, claimWaitMs, idleMs } = options;
  checkStore(store);
  checkName("threadId", threadId);
  checkTexts({ owner });
  checkDuration("claimWaitMs", claimWaitMs);
  checkDuration("idleMs", idleMs);
  const log = new LoopLog(options);
  return {
    model: (model) => loggedModel(log, model),
    tools: (tools) => loggedTools(log, tools),
    messages: async () => closed(toUIMessages(await log.load())),
    save: (messages) => log.save(messages),
    end: () => log.free(),
  };
}

/** The page offers no call that cannot get its result any more: the process has ended. */
function closed(messages: readonly UIChatMessage[]): UIChatMessage[] {
  return messages.map((message) => ({
    ...message,
    parts: message.parts.map((part) => {
      if (!("toolCallId" in part) || part.state !== "input-available" || part.providerExecuted) return part;
      return { ...part, state: "output-error", errorText: "The call was interrupted; its outcome is unknown." };
    }),
  }));
}

/** A proxy, so that the model keeps what its package gives it. */
function loggedModel<Model extends ProviderModel>(log: LoopLog, model: Model): Model {
  if (typeof Object(model).doStream !== "function")
    throw invalid(`model must be a model of a provider package, such as openai("gpt-5"), not ${describe(model)}.`);
  const spec = specOf(model);
  const { provider, modelId } = modelIdentity(model);
  const builderFor = (): AnswerBuilder => new AnswerBuilder(spec, { provider, model: modelId });
  const doGenerate = async (options: ModelOptions): Promise<unknown> => {
    const { options: shown, answer } = await log.begin(model, options);
    try {
      const result = await model.doGenerate(shown);
      const builder = builderFor();
      for (const part of result.content) {
        const read = rawPart(part);
        if (read !== undefined) builder.takeWhole(read);
      }
      await answer(builder, { usage: spec.usage(result.usage), finishReason: spec.finishReason(result.finishReason) });
      return result;
    } catch (error) {
      await log.free();
      throw error;
    }
  };
  const doStream = async (options: ModelOptions): Promise<unknown> => {
    const { options: shown, answer } = await log.begin(model, options);
    try {
      const opened = await model.doStream(shown);
      const builder = builderFor();
      const commit = (facts: AnswerFacts): Promise<void> => answer(builder, facts);
      const streams = log.streams.bind(log);
      return { ...opened, stream: loggedStream(opened.stream.getReader(), { builder, commit, spec, streams }) };
    } catch (error) {
      await log.free();
      throw error;
    }
  };
  return new Proxy(model, {
    get: (target, name) => {
      if (name === "doGenerate") return doGenerate;
      if (name === "doStream") return doStream;
      const value: unknown = Reflect.get(target, name, target); // packages use private fields
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

type Reader = ReturnType<Awaited<ReturnType<ProviderModel["doStream"]>>["stream"]["getReader"]>;

interface StreamLog {
  readonly builder: AnswerBuilder;
  readonly commit: (facts: AnswerFacts) => Promise<void>;
  readonly spec: ReturnType<typeof specOf>;
  readonly streams: LoopLog["streams"];
}

/**
 * Passes the parts on, and commits the answer before its end. Calls are held back until then, because nothing may act on a
 * call that is not durable. It reads on when the page is gone, so that the answer is in the log. An answer that was stopped
 * or has failed is committed as far as it came, without calls.
 */
function loggedStream(reader: Reader, { builder, commit, spec, streams }: StreamLog): ReadableStream<unknown> {
  let end: Promise<void> | undefined;
  let isOpen = true;
  const commitOnce = (facts: AnswerFacts): Promise<void> => {
    end ??= commit(facts);
    return end;
  };
  const partial = (): Promise<void> => commitOnce({ finishReason: "interrupted", isPartial: true });
  streams(partial);
  return new ReadableStream<unknown>({
    async start(controller) {
      const send = (part: unknown): void => {
        if (isOpen) controller.enqueue(part);
      };
      const pump = async (): Promise<void> => {
        let held: readonly { readonly part: RawPart; readonly value: unknown }[] = [];
        for (;;) {
          const { done, value } = await reader.read();
          const part = rawPart(value);
          if (done) break;
          if (part === undefined) continue;
          if (part.type === "error") await partial();
          if (part.type !== "finish") {
            builder.take(part);
            const isInput = part.type.startsWith("tool-input-");
            const waits =
              isOwnCall(part) || (held.length > 0 && !(isInput && held.every((one) => isOwnCall(one.part))));
            if (waits) held = [...held, { part, value }];
            else send(value);
            continue;
          }
          await commitOnce({ usage: spec.usage(part["usage"]), finishReason: spec.finishReason(part["finishReason"]) });
          for (const one of held) send(one.value);
          held = [];
          send(value);
        }
        await partial();
        if (isOpen) controller.close();
      };
      void pump().catch(async (error: unknown) => {
        await partial().catch(() => undefined); // the first error is the cause
        if (isOpen) controller.error(error);
      });
    },
    async cancel(reason) {
      isOpen = false;
      await Promise.all([partial(), Promise.resolve(reader.cancel(reason)).catch(() => undefined)]);
    },
  });
}

function isOwnCall(part: RawPart): boolean {
  return part.type === "tool-call" && part["providerExecuted"] !== true;
}

interface ToolCallOptions {
  readonly toolCallId: string;
}

/** The fields of a tool of the AI SDK that are used. */
interface RunnableTool {
  readonly execute?: (input: unknown, options: ToolCallOptions) => unknown;
  readonly toModelOutput?: (facts: { toolCallId: string; input: unknown; output: unknown }) => unknown;
}

function checkTools(tools: unknown): void {
  const isObject = typeof tools === "object" && tools !== null && !Array.isArray(tools);
  if (isObject && Object.values(tools).every((tool) => typeof tool === "object" && tool !== null)) return;
  throw invalid("tools must be an object of tools by name, such as { weather: tool({ ... }) }.");
}

function loggedTools<Set extends object>(log: LoopLog, tools: Set): Set {
  checkTools(tools);
  const logged = Object.entries(tools).map(([name, tool]: [string, RunnableTool]) => [
    name,
    loggedTool(log, name, tool),
  ]);
  return Object.fromEntries(logged) as Set; // the same names, and tools of the same types
}

function loggedTool(log: LoopLog, toolName: string, tool: RunnableTool): RunnableTool {
  const { execute, toModelOutput } = tool;
  if (typeof execute !== "function") return tool;
  const commit = (toolCallId: string, output: unknown, details?: JsonValue): Promise<void> => {
    const content = [{ type: "tool-result", toolCallId, toolName, output }];
    return log.commitResult(toolCallId, { role: "tool", content }, details);
  };
  const commitOutput = async (toolCallId: string, input: unknown, output: unknown): Promise<void> => {
    const value = plainJson(output) ?? null;
    if (toModelOutput !== undefined) {
      await commit(toolCallId, await toModelOutput({ toolCallId, input, output }), value);
      return;
    }
    const isText = typeof value === "string";
    const isRead = isText || parseStructure(valueText(value)) !== undefined; // can be read from what the model is shown
    await commit(toolCallId, { type: isText ? "text" : "json", value }, isRead ? undefined : value);
  };
  const commitError = (toolCallId: string, error: unknown): Promise<void> =>
    commit(toolCallId, { type: "error-text", value: error instanceof Error ? error.message : String(error) });
  async function* stream(input: unknown, options: ToolCallOptions): AsyncGenerator {
    const known = await log.result(options.toolCallId);
    if (known !== undefined) return yield known.output;
    let output: unknown;
    try {
      for await (const value of iterableIn(await execute?.call(tool, input, options))) {
        output = value;
        yield value;
      }
    } catch (error) {
      await commitError(options.toolCallId, error);
      throw error;
    }
    await commitOutput(options.toolCallId, input, output);
  }
  const run = async (input: unknown, options: ToolCallOptions): Promise<unknown> => {
    let output: unknown;
    const known = await log.result(options.toolCallId);
    if (known !== undefined) return known.output;
    try {
      const made = await execute.call(tool, input, options);
      output = made;
      if (isIterable(made)) for await (const value of made) output = value;
    } catch (error) {
      await commitError(options.toolCallId, error);
      throw error;
    }
    await commitOutput(options.toolCallId, input, output);
    return output;
  };
  // The SDK decides by what `execute` returns whether there are preliminary outputs.
  const isGenerator = execute.constructor.name === "AsyncGeneratorFunction";
  return { ...tool, execute: isGenerator ? stream : run };
}

function iterableIn(made: unknown): AsyncIterable<unknown> | readonly unknown[] {
  return isIterable(made) ? made : [made];
}

function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}
