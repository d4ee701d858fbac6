import type { ContextPolicyInput } from "../projection/policy/fields.ts";
import type { StudioInfo, ThreadDetail } from "./answers.ts";
import { pathOf } from "./calls.ts";
import type { Call } from "./command.ts";
import { follow } from "./follow.ts";
import { POLICY_HELP, policyGiven } from "./given.ts";
import type { Interrupts } from "./interrupts.ts";
import type { Options } from "./options.ts";
import type { Place } from "./place.ts";
import type { Steering } from "./steering.ts";

/** The options of `ask` and `chat`. */
export const ASKING = {
  thread: { type: "string", short: "t", value: "thread", help: "the thread to continue; default: a new one" },
  title: { type: "string", value: "text", help: "title of a new thread; default: the first words" },
  policy: { type: "string", value: "policy", help: POLICY_HELP },
  tool: {
    type: "string",
    multiple: true,
    value: "name",
    help: "allow only this tool; repeat it to allow more",
  },
} as const satisfies Options;

interface Asking {
  readonly call: Call<typeof ASKING>;
  readonly contextPolicy: ContextPolicyInput | undefined;
  readonly place: Place;
  readonly interrupts: Interrupts;
  readonly steering?: Steering | undefined;
  /** Called when the request has been accepted. */
  readonly told?: (() => Promise<void>) | undefined;
}

/** Call this before a thread is made, so that an invalid policy leaves no empty thread. */
export async function policyAsked({ io, options }: Asking["call"]): Promise<ContextPolicyInput | undefined> {
  return options.policy === undefined ? undefined : policyGiven(io, options.policy);
}

/** Asks, and follows the request to its end. Returns the exit code. */
export async function asked(asking: Asking, content: string): Promise<number> {
  const { call } = asking;
  const isNew = call.options.thread === undefined;
  const threadId = await threadFor(asking);
  const told = async (): Promise<void> => {
    if (isNew && !call.out.isJson && !asking.place.isForgetful)
      await call.out.say(call.out.talk("dim", `thread ${threadId} · continue it with --thread ${threadId}`));
  };
  return askIn({ ...asking, told }, { threadId, isNew }, content);
}

/** The id of the named thread, or of a new one. */
export async function threadFor({ call, place }: Asking): Promise<string> {
  const { thread, title } = call.options;
  if (thread !== undefined) {
    const id = await place.threadId(thread);
    await noteOther(call, place, id);
    return id;
  }
  const { id } = await place.post<{ readonly id: string }>("/api/threads", title === undefined ? {} : { title });
  return id;
}

interface Where {
  readonly threadId: string;
  /** Whether the thread was made for this request. It is deleted if the request is refused. */
  readonly isNew: boolean;
}

export async function askIn(asking: Asking, { threadId, isNew }: Where, content: string): Promise<number> {
  const { call, contextPolicy, place, interrupts, steering } = asking;
  const { tool } = call.options;
  const body = { content, next: [], ...(contextPolicy && { contextPolicy }), ...(tool && { allowedTools: tool }) };
  const begin = async (): Promise<string> => {
    const { requestId } = await place
      .post<{ readonly requestId: string }>(pathOf(threadId, "ask"), body)
      .catch(async (error: unknown) => {
        if (isNew) await place.send(pathOf(threadId), { method: "DELETE" }).catch(() => undefined);
        throw error;
      });
    if (call.out.isJson) await call.out.json({ kind: "request", threadId, requestId });
    await asking.told?.();
    return requestId;
  };
  return follow({ call: call as Call, place, threadId, interrupts, begin, steering });
}

/** Warns when the thread was made by another agent: this is allowed, but usually a mistake. */
async function noteOther({ out }: Asking["call"], place: Place, threadId: string): Promise<void> {
  if (place.isServer) return;
  const [{ agent: of }, { agent }] = await Promise.all([
    place.get<ThreadDetail>(pathOf(threadId)),
    place.get<StudioInfo>("/api/info"),
  ]);
  if (of !== undefined && of !== agent) {
    await out.say(
      `${out.talk("yellow", "warning:")} this thread belongs to the agent ${of}, but ${agent} answers. Name an agent with --agent.`,
    );
  }
}
