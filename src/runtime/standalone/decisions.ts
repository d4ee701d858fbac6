import type { AnyAgent } from "../../agent/definition/config.ts";
import { openCalls, type Run } from "../../agent/react/state.ts";
import { RequestError } from "../request/request-error.ts";
import type { Decider } from "../server/options.ts";
import type { AgentServer } from "../server/port.ts";
import type { Decisions } from "./options.ts";

/** Refused before anything runs: a decision on a call that is not open, and two on one call. */
export function checkDecisions(run: Run, { approve, deny, answers = {} }: Decisions): void {
  const ids = [...idsOf(approve), ...idsOf(deny), ...Object.keys(answers)];
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined) {
    const message = `There are two decisions on call ${twice}. Make one.`;
    throw new RequestError({ code: "invalid_options", requestId: run.requestId, message });
  }
  const open = openCalls(run).map(({ call }) => call.id);
  const unknown = ids.find((id) => !open.includes(id));
  if (unknown === undefined) return;
  const message = `No call ${unknown} of this run waits for a decision. Open are: ${open.join(", ") || "none"}.`;
  throw new RequestError({ code: "not_waiting", requestId: run.requestId, message });
}

/** Passes on what was decided. Calls that have to be asked for first are: the run goes on until it waits for them. */
export async function decideAll(
  server: AgentServer<AnyAgent>,
  { approve, deny, answers = {} }: Decisions,
): Promise<void> {
  if (idsOf(approve).length + idsOf(deny).length + Object.keys(answers).length === 0) return;
  for await (const _event of server.request?.events({ until: "waiting" }) ?? []);
  for (const [toolCallId, decider] of decidersOf(approve)) await server.approve(toolCallId, decider);
  for (const [toolCallId, output] of Object.entries(answers)) await server.answer(toolCallId, output);
  for (const [toolCallId, decider] of decidersOf(deny)) await server.deny(toolCallId, decider);
}

type Deciders = Decisions["approve"];

function decidersOf(given: Deciders): readonly (readonly [string, Decider])[] {
  if (given === undefined) return [];
  return isList(given) ? given.map((toolCallId) => [toolCallId, {}] as const) : Object.entries(given);
}

function idsOf(given: Deciders): readonly string[] {
  return decidersOf(given).map(([toolCallId]) => toolCallId);
}

function isList(given: NonNullable<Deciders>): given is readonly string[] {
  return Array.isArray(given);
}
