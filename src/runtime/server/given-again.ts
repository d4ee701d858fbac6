import type { Run } from "../../agent/react/state.ts";
import type { Failure } from "../../agent/signal.ts";
import type { Refs } from "../../thread/entry.ts";
import { untilAborted } from "../directives/until-aborted.ts";
import { hookAnswer } from "../hook.ts";
import { RequestError } from "../request/request-error.ts";
import type { Session } from "../session/session.ts";
import { ensureCounter } from "./exact-counter.ts";
import type { LiveThreadOptions } from "./live-options.ts";
import type { Prompt } from "./prompt.ts";
import type { Requests } from "./requests.ts";
import { itemsOf, type Toolbox } from "./toolbox.ts";

/** Where it goes. */
interface Place {
  readonly options: LiveThreadOptions;
  readonly session: Session;
  readonly requests: Requests;
  readonly toolbox: Toolbox;
  readonly prompt: Prompt;
}

/** What a request that goes on was given by its caller, and no log has. One that is only to be closed needs none of it. */
export async function givenAgain(
  { options, session, requests, toolbox, prompt }: Place,
  { requestId, refs: json, options: asked }: Run,
): Promise<{ readonly systemPrompt?: string }> {
  const { signal, threadId, tools, context: contextOf, warn, ports, definition } = options;
  const limit = { ports, timeoutMs: definition.hookTimeoutMs, signal };
  const refs = json as Refs; // of the ask
  const given = async <Answer>(name: "context" | "tools", make: () => Answer | Promise<Answer>): Promise<Answer> => {
    try {
      return await hookAnswer(limit, { name: `The function \`${name}\``, ...FAILED[name] }, make);
    } catch (cause) {
      throw signal.aborted ? cause : new GivenError(name, cause);
    }
  };
  const context = await given("context", () => contextOf(threadId, refs));
  const isLost = asked.hasContext === true && context === undefined;
  if (isLost) warn(noContext(threadId, requestId));
  if (tools !== undefined) {
    toolbox.lend(requestId, await given("tools", async () => itemsOf(await tools(threadId, refs), limit)));
  }
  requests.setContext(requestId, context);
  await ensureCounter(session, asked.contextPolicy);
  if (isLost) return {}; // no call is made, and the prompt could throw for want of it
  return untilAborted(signal, () => prompt.of(context));
}

const FAILED = { context: { code: "context_failed" }, tools: { code: "tools_failed" } } as const;

/** The caller's own `context` or `tools` function threw or did not answer: the request cannot go on, now or at the next start. */
export class GivenError extends Error {
  readonly failure: Failure;

  constructor(name: "context" | "tools", cause: unknown) {
    const { code } = FAILED[name];
    const isLate = RequestError.isInstance(cause) && cause.code === code;
    const message = isLate
      ? cause.message
      : `The function \`${name}\`, which makes anew what the request was asked with, threw an error. See \`cause\` or onError, and ask again.`;
    super(message, { cause });
    this.failure = { code, message };
  }
}

function noContext(threadId: string, requestId: string): string {
  return `Thread ${threadId}: the request ${requestId} was asked with a context and is taken up without one, and fails with options_lost when it goes on. Give \`context\` here too: it is never stored.`;
}
