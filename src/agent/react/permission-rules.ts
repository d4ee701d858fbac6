import { checkSetting, heldRules, type PermissionRule, SettingError, settingId } from "../../lanes/setting.ts";
import type { EntryInput } from "../../thread/entry.ts";
import { type JsonObject, sameJson } from "../../thread/json.ts";
import type { ToolCall } from "../../thread/message.ts";
import type { Remember } from "../signal.ts";
import type { ReactAgent } from "./agent.ts";
import { covers } from "./argument-pattern.ts";
import { callRefs } from "./entries.ts";
import { type OpenCall, openCalls, type Run } from "./state.ts";

/** The permission rules that hold for the open request, else for the active lane. */
export function rulesOf({ thread, state: { run, activeContextRef } }: ReactAgent): readonly PermissionRule[] {
  return heldRules(thread, run?.lane ?? activeContextRef, run?.requestId);
}

/** The rule that decides a call: a rule that denies it comes before one that allows it. */
export function ruleFor(agent: ReactAgent, call: Pick<ToolCall, "name" | "arguments">): PermissionRule | undefined {
  const rules = rulesOf(agent).filter((rule) => covers(rule, call));
  return rules.find(({ verdict }) => verdict === "deny") ?? rules.at(-1);
}

/** The calls that wait here for an approval, and that a rule decides. */
export function ruledCalls(agent: ReactAgent): readonly { readonly open: OpenCall; readonly rule: PermissionRule }[] {
  const { state, flight } = agent;
  const now = agent.ports.clock();
  const open = state.run === undefined ? [] : openCalls(state.run);
  return open.flatMap((one) => {
    const isOpen = one.status === "approval_requested" && (one.deadline ?? Number.POSITIVE_INFINITY) > now;
    const waits = isOpen && !flight.running.includes(one.call.id);
    const rule = waits ? ruleFor(agent, one.call) : undefined;
    return rule === undefined ? [] : [{ open: one, rule }];
  });
}

interface Maker {
  readonly approved: boolean;
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
}

/** The rule that a decision makes, as an entry. None where an equal rule holds. A rule must cover the call that it is made of. */
export function ruleEntries(
  agent: ReactAgent,
  run: Run,
  call: ToolCall,
  { approved, by, reason }: Maker,
  remember: Remember | undefined,
): readonly EntryInput[] {
  if (remember === undefined) return [];
  const { opId, tool = call.name, pattern, scope = "request" } = remember;
  const value = { tool, verdict: approved ? "allow" : "deny", ...(pattern && { pattern }) } as const;
  const payload = checkSetting(
    {
      opId,
      ...(scope === "lane" && { contextRef: run.lane }),
      ...(scope === "request" && { requestId: run.requestId }),
      ...(by !== undefined && { by }),
      ...(reason !== undefined && { reason }),
      setting: { type: "rule", name: opId, value },
    },
    agent.thread,
  );
  if (!covers(value, call)) {
    const message = `The rule does not cover the call ${call.id}. A pattern is compared with whole values, and with commands of a shell exactly.`;
    throw new SettingError({ code: "setting_invalid", message });
  }
  const isHeld = rulesOf(agent).some(({ id: _id, scope: ofRule, by: _by, reason: _reason, seq: _seq, ...held }) => {
    return ofRule === scope && sameJson(held as JsonObject, value as JsonObject); // a rule is JSON
  });
  const refs = { ...callRefs(run), toolCallId: call.id };
  return isHeld ? [] : [{ id: settingId(opId), kind: "ai_setting", payload, refs }];
}
