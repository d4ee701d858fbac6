import { modelChoiceProblem } from "../../agent/definition/define-agent.ts";
import { type ModelChoice, modelList, modelNames } from "../../agent/definition/language-model.ts";
import { rulesOf } from "../../agent/react/permission-rules.ts";
import { newestSetting, SettingError, settingId } from "../../lanes/setting.ts";
import { type JsonObject, sameJson } from "../../thread/json.ts";
import type { AiSettingPayload, Setting } from "../../thread/kinds.ts";
import type { Loop } from "../loop.ts";
import { RequestError } from "../request/request-error.ts";
import { decisionOf } from "./command-refs.ts";
import type { OperationAnswer, OperationSettled } from "./modify.ts";
import type { Decider, SettingOptions } from "./options.ts";

/** Writes a setting at once. An open request keeps its settings: the new one is in the log, but deferred until its end. */
export async function set(live: Loop, setting: Setting, options: SettingOptions): Promise<OperationAnswer> {
  const { lane, opId: named, ...sender } = options;
  const { by, reason, refs } = decisionOf(sender);
  const content = {
    ...(lane !== undefined && { contextRef: lane }),
    ...(by !== undefined && { by }),
    ...(reason !== undefined && { reason }),
    setting,
  };
  await live.reload();
  const equal = named === undefined ? await live.read(({ thread }) => equalSetting(thread, content)) : undefined;
  if (equal !== undefined) return { opId: equal, status: "duplicate", settled: APPLIED };
  const opId = named ?? live.options.ports.ids("op");
  const { before, after } = await live.command({ type: "set", setting: { opId, ...content }, ...(refs && { refs }) });
  const id = settingId(opId);
  const fresh = after.thread.filterByKind("ai_setting", { partial: true }).findLast((entry) => entry.id === id);
  if (fresh === undefined || fresh.seq < before.thread.rev) return { opId, status: "duplicate", settled: APPLIED };
  const { run } = after.state;
  if (run === undefined || run.askSeq > fresh.seq) return { opId, status: "applied", settled: APPLIED };
  const settled = (live.current?.result ?? Promise.resolve()).then(
    () => APPLIED,
    () => APPLIED,
  );
  return { opId, status: "deferred", settled };
}

/** Revokes a permission rule, in the scope where it was made. */
export async function revokeRule(live: Loop, id: string, options: Decider): Promise<boolean> {
  const { by, reason, refs } = decisionOf(options);
  await live.reload();
  const { run, activeContextRef } = live.agent.state;
  const rule = rulesOf(live.agent).find((one) => one.id === id);
  if (rule === undefined) return false;
  if (rule.mode !== undefined) {
    const message = `The rule ${id} is one of the mode ${rule.mode}. Change the mode with setMode, or its rules in the agent.`;
    throw new SettingError({ code: "setting_invalid", message });
  }
  const setting = {
    opId: live.options.ports.ids("op"),
    ...(rule.scope === "lane" && { contextRef: run?.lane ?? activeContextRef }),
    ...(rule.scope === "request" && run !== undefined && { requestId: run.requestId }),
    ...(by !== undefined && { by }),
    ...(reason !== undefined && { reason }),
    setting: { type: "rule", name: id, value: null },
  } as const;
  await live.command({ type: "set", setting, ...(refs && { refs }) });
  return true;
}

const APPLIED: Promise<OperationSettled> = Promise.resolve({ status: "applied" });

/** The opId of the newest setting of the same name, if it is equal. A caller may register its tools at every start. */
function equalSetting(thread: Loop["agent"]["thread"], content: Omit<AiSettingPayload, "opId">): string | undefined {
  const payload = newestSetting(thread, content)?.payload as JsonObject | undefined; // every payload is a JSON object
  const isEqual = payload !== undefined && sameJson(payload["setting"], content.setting as JsonObject); // settings are JSON
  return isEqual ? String(payload["opId"]) : undefined;
}

/** A prompt that can be stored. */
export function portablePrompt(systemPrompt: unknown): string {
  if (typeof systemPrompt === "string") return systemPrompt.toWellFormed();
  if (typeof systemPrompt === "function") {
    const message =
      "A function cannot be stored with the thread. Make it the agent's `systemPrompt`, or set the text that it returns.";
    throw new SettingError({ code: "not_portable", message });
  }
  throw invalid("systemPrompt must be text or null.");
}

/** The names of a model that can be stored. */
export function portableModel(model: ModelChoice): readonly string[] {
  const problem = modelChoiceProblem(model);
  if (problem !== undefined) throw invalid(`model ${problem}.`);
  if (modelList(model).every((item) => typeof item === "string")) return modelNames(model);
  const message = "A model object cannot be stored with the thread. Set its name, and give `models` or `resolveModel`.";
  throw new SettingError({ code: "not_portable", message });
}

function invalid(message: string): RequestError {
  return new RequestError({ code: "invalid_options", message });
}
