import type { WaitingCall } from "../../agent/react/agent.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { ListedCall } from "../../stores/waiting-call.ts";
import { checkWaitingOptions } from "../option-names.ts";
import type { RuntimePorts } from "../ports.ts";
import { retryStore } from "../session/store-retry.ts";
import type { WaitingListOptions } from "./options.ts";

/** A page of the waiting calls of all threads. */
export interface WaitingList {
  readonly calls: readonly ListedWaitingCall[];
  /** Pass it for the next page. Absent on the last page. */
  readonly cursor?: string;
}

/** A waiting call of any thread. Long `arguments` are absent: they are in the log. */
interface ListedWaitingCall extends Omit<WaitingCall, "arguments"> {
  readonly threadId: string;
  readonly requestId: string;
  /** The name of the agent. */
  readonly agent: string;
  readonly arguments?: WaitingCall["arguments"];
  /** When it began to wait, by the clock of the store. */
  readonly since: number;
}

const KINDS = ["approval", "answer", "sleep"] as const;

/** Rows of other kinds, which other programs may have written, are left out. */
export async function listWaiting(
  store: ThreadStore,
  ports: RuntimePorts,
  options: WaitingListOptions,
): Promise<WaitingList> {
  checkWaitingOptions(options);
  const { calls, cursor } = await retryStore(ports, () => store.waiting(options));
  return { calls: calls.flatMap(read), ...(cursor !== undefined && { cursor }) };
}

function read({
  threadId,
  callId: toolCallId,
  kind: given,
  since,
  deadline,
  body,
}: ListedCall): readonly ListedWaitingCall[] {
  const { name, requestId, agent, arguments: args } = body;
  const kind = KINDS.find((one) => one === given);
  if (kind === undefined || typeof name !== "string") return [];
  const more = { ...(args !== undefined && { arguments: args }), ...(deadline !== undefined && { deadline }) };
  return [{ threadId, toolCallId, requestId: String(requestId), agent: String(agent), name, kind, since, ...more }];
}
