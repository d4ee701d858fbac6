import { portableSha256 } from "../thread/encoding.ts";
import type { Entry } from "../thread/entry.ts";
import { type ErrorFacts, HeddleError } from "../thread/errors.ts";
import { copyJsonObject, isPlainObject, type JsonObject, sameJson } from "../thread/json.ts";
import type { AiSettingPayload, RuleValue, Setting } from "../thread/kinds.ts";
import { DEFAULT_LANE, namedLane } from "../thread/lane-operations.ts";
import type { ToolSpec } from "../thread/message.ts";
import { checkName } from "../thread/options.ts";
import type { Thread } from "../thread/thread.ts";
import { laneBaseOf } from "../thread/thread-data.ts";
import { isWritten } from "./active-lane.ts";

/** The reason for which a setting was refused. Nothing was written. */
export type SettingErrorCode =
  | "setting_invalid"
  /** The lane has no entries. */
  | "setting_lane_unknown"
  /** This opId was used before with other content. */
  | "setting_id_reused"
  /** A function cannot be stored. */
  | "not_portable";

/**
 * A setting that cannot be stored.
 *
 * @example
 * const error = new SettingError({ code: "setting_invalid", message: "setting.value must be text." });
 * error.code; // "setting_invalid"
 */
export class SettingError extends HeddleError {
  static override readonly className: string = "SettingError";
  declare readonly code: SettingErrorCode;

  constructor({ code, ...facts }: ErrorFacts & { readonly code: SettingErrorCode }) {
    super({ ...facts, code });
  }
}

type SettingEntry = Pick<Entry, "kind" | "payload">;
type ToolSetting = Extract<Setting, { readonly type: "tool" | "tool_removed" }>;

/** The settings that hold for a request, those of its lane before those of the thread. */
export interface HeldSettings {
  /** Default: none was set. */
  readonly systemPrompt?: string;
  /** That of the lane before that of the thread. One without a window takes that of the thread; nothing else is merged. Default: none was set. */
  readonly contextPolicy?: JsonObject;
  /** The names of the models. Default: none was set. */
  readonly model?: readonly string[];
  /** The name of the mode. Default: none was set. */
  readonly mode?: string;
  /** The settings that come before those of the mode: they are of the lane, or newer. Default: none. */
  readonly overMode?: { readonly systemPrompt?: boolean; readonly model?: boolean };
  /** By name, in the order of their entries. */
  readonly tools: ReadonlyMap<string, ToolSetting>;
  /** The seqs of their entries, in order. */
  readonly seqs: readonly number[];
}

const NOTHING_HELD: HeldSettings = Object.freeze({ tools: new Map(), seqs: Object.freeze([]) });

/**
 * Folds the settings before a seq, by default all, for the requests of one lane. A setting that is malformed has no effect. Null
 * takes back the setting of the same level.
 *
 * @example
 * const setting = { type: "system_prompt", value: "Be brief." } as const;
 * const thread = Thread.create().append({ kind: "ai_setting", payload: { opId: "1", setting } });
 * heldSettings(thread, "default").systemPrompt; // "Be brief."
 */
export function heldSettings(thread: Thread, lane: string, beforeSeq: number = thread.rev): HeldSettings {
  const { base } = thread;
  const loaded: readonly Entry[] = thread.filterByKind("ai_setting", { partial: true });
  const earlier = base === undefined ? [] : [...(base.settings ?? []), ...(laneBaseOf(base, lane)?.settings ?? [])];
  if (loaded.length === 0 && earlier.length === 0) return NOTHING_HELD;
  const ofThread = new Map<string, Held>();
  const ofLane = new Map<string, Held>();
  for (const entry of [...earlier, ...loaded]) {
    const setting = entry.seq < beforeSeq ? readSetting(entry) : undefined;
    const named = namedLane(entry);
    if (setting === undefined || setting.type === "rule" || (named !== undefined && named !== lane)) continue;
    const level = named === undefined ? ofThread : ofLane;
    if ("value" in setting && setting.value === null) level.delete(nameOf(setting));
    else level.set(nameOf(setting), { seq: entry.seq, setting });
  }
  return merged(ofThread, ofLane);
}

interface Held {
  readonly seq: number;
  readonly setting: Setting;
}

function merged(ofThread: ReadonlyMap<string, Held>, ofLane: ReadonlyMap<string, Held>): HeldSettings {
  const winners = [...new Map([...ofThread, ...ofLane]).values()].sort((a, b) => a.seq - b.seq);
  const policies = [ofLane, ofThread].flatMap((level) => policyIn(level.get("context_policy")) ?? []);
  const [policy, wider] = policies;
  const window = policy?.fields["maxInputTokens"] === undefined ? wider?.fields["maxInputTokens"] : undefined;
  const [heldPrompt, heldModel, heldMode] = (["system_prompt", "model", "mode"] as const).map((type) =>
    winners.find(({ setting }) => setting.type === type),
  );
  const [prompt, model, mode] = [heldPrompt?.setting, heldModel?.setting, heldMode?.setting];
  const isOfLane = (held: Held): boolean => ofLane.get(nameOf(held.setting)) === held;
  const isOver = (held: Held | undefined): boolean => {
    if (held === undefined || heldMode === undefined) return false;
    return isOfLane(held) === isOfLane(heldMode) ? held.seq > heldMode.seq : isOfLane(held);
  };
  const tools = winners.flatMap(({ setting }) => (isTool(setting) ? [[setting.name, setting] as const] : []));
  const seqs = [...winners.map(({ seq }) => seq), ...(window === undefined || wider === undefined ? [] : [wider.seq])];
  return {
    ...(prompt?.type === "system_prompt" && prompt.value !== null && { systemPrompt: prompt.value }),
    ...(model?.type === "model" && model.value !== null && { model: model.value }),
    ...(mode?.type === "mode" &&
      mode.value !== null && {
        mode: mode.value,
        overMode: { systemPrompt: isOver(heldPrompt), model: isOver(heldModel) },
      }),
    ...(policy && { contextPolicy: { ...(window !== undefined && { maxInputTokens: window }), ...policy.fields } }),
    tools: new Map(tools),
    seqs: seqs.sort((a, b) => a - b),
  };
}

function policyIn(held: Held | undefined): { readonly seq: number; readonly fields: JsonObject } | undefined {
  if (held?.setting.type !== "context_policy" || held.setting.value === null) return undefined;
  return { seq: held.seq, fields: held.setting.value };
}

/** A permission rule of a thread. A rule decides calls of a tool that would wait for a person. */
export interface PermissionRule extends RuleValue {
  /** For `revokeRule`. */
  readonly id: string;
  /** The range of the rule: of a rule of a mode, the requests in this mode. */
  readonly scope: "request" | "lane" | "thread" | "mode";
  /** The mode that has the rule. Default: a decision has made it. */
  readonly mode?: string;
  /** The person who made it. */
  readonly by?: string;
  readonly reason?: string;
  /** The entry that made it. Absent for a rule of a mode. */
  readonly seq?: number;
}

/** The rules that hold now for a request in a lane, in the order of their entries. */
export function heldRules(thread: Thread, lane: string, requestId: string | undefined): readonly PermissionRule[] {
  const { base } = thread;
  const loaded: readonly Entry[] = thread.filterByKind("ai_setting", { partial: true });
  const earlier = base === undefined ? [] : [...(base.settings ?? []), ...(laneBaseOf(base, lane)?.settings ?? [])];
  const rules = new Map<string, PermissionRule>();
  for (const entry of [...earlier, ...loaded].toSorted((a, b) => a.seq - b.seq)) {
    const setting = readSetting(entry);
    if (setting?.type !== "rule") continue;
    const { contextRef, requestId: only, by, reason } = entry.payload as unknown as AiSettingPayload; // checked
    if ((contextRef !== undefined && contextRef !== lane) || (only !== undefined && only !== requestId)) continue;
    const { name: id, value } = setting;
    rules.delete(id);
    const scope = only !== undefined ? "request" : contextRef !== undefined ? "lane" : "thread";
    const who = { ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) };
    if (value !== null) rules.set(id, { id, ...value, scope, ...who, seq: entry.seq });
  }
  return [...rules.values()];
}

function isTool(setting: Setting): setting is ToolSetting {
  return setting.type === "tool" || setting.type === "tool_removed";
}

/** The setting in an entry. Undefined for other entries, and for a malformed setting. */
function readSetting({ kind, payload }: SettingEntry): Setting | undefined {
  if (kind !== "ai_setting") return undefined;
  const { setting, requestId } = payload as JsonObject; // every payload is a JSON object
  if (requestId !== undefined && typeof requestId !== "string") return undefined;
  return isPlainObject(setting) && troubleIn(setting as JsonObject) === undefined ? (setting as Setting) : undefined; // checked
}

/** The name under which the record of a lane has the setting of an entry. It has none of one request, which is loaded whole. */
export function settingName(entry: SettingEntry): string | undefined {
  const setting = "requestId" in entry.payload ? undefined : readSetting(entry);
  return setting && nameOf(setting);
}

/** A tool and its removal have one name, because the newer one counts. */
function nameOf(setting: Setting): string {
  if (setting.type === "rule") return `rule:${setting.name}`;
  return isTool(setting) ? `tool:${setting.name}` : setting.type;
}

function troubleIn(setting: JsonObject): string | undefined {
  const { type, value, name, description, inputSchema, provider, hash } = setting;
  switch (type) {
    case "mode":
      return value === null || areNames([value]) ? undefined : "setting.value must be the name of a mode or null";
    case "system_prompt":
      return value === null || typeof value === "string" ? undefined : "setting.value must be text or null";
    case "context_policy":
      return value === null || isPlainObject(value) ? undefined : "setting.value must be a context policy or null";
    case "model":
      return value === null || areNames(value) ? undefined : "setting.value must be a list of model names or null";
    case "tool":
      if (typeof name !== "string" || name === "") return "setting.name must be a non-empty string";
      if (description !== undefined && typeof description !== "string") return "setting.description must be text";
      if (!isPlainObject(inputSchema)) return "setting.inputSchema must be a JSON Schema";
      if (
        provider !== undefined &&
        !(isPlainObject(provider) && typeof provider["id"] === "string" && isPlainObject(provider["args"]))
      ) {
        return "setting.provider must be { id, args }";
      }
      return typeof hash === "string" ? undefined : "setting.hash must be text";
    case "tool_removed":
      return typeof name === "string" && name !== "" ? undefined : "setting.name must be a non-empty string";
    case "rule":
      if (typeof name !== "string" || name === "") return "setting.name must be a non-empty string";
      return value === null ? undefined : troubleInRule(isPlainObject(value) ? (value as JsonObject) : {}); // a value of an entry is JSON
    default:
      return "setting.type must be system_prompt, context_policy, model, mode, tool, tool_removed or rule";
  }
}

function areNames(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every((name) => typeof name === "string" && name !== "");
}

/** The problem of a permission rule. Undefined: it is good. */
export function troubleInRule({ tool, verdict, pattern, hash }: JsonObject): string | undefined {
  if (typeof tool !== "string" || tool === "") return "The tool of a rule must be the name of a tool";
  if (verdict !== "allow" && verdict !== "deny") return "The verdict of a rule must be allow or deny";
  if (hash !== undefined && typeof hash !== "string") return "The hash of a rule must be text";
  if (pattern === undefined) return undefined;
  const globs = isPlainObject(pattern) ? Object.entries(pattern) : [];
  const isGood = globs.length > 0 && globs.every(([path, glob]) => path !== "" && typeof glob === "string");
  return isGood
    ? undefined
    : "The pattern of a rule must have at least one path with a text. Leave it out for all calls";
}

/** The setting of a tool: its specification, with the hash of it. */
export function toolSetting(given: ToolSpec): Extract<Setting, { readonly type: "tool" }> {
  const spec = specOfSetting(given);
  return { type: "tool", ...spec, hash: portableSha256(JSON.stringify(spec)) };
}

/** The specification in the setting of a tool. */
export function specOfSetting({ name, description, inputSchema, provider }: ToolSpec): ToolSpec {
  return { name, ...(description !== undefined && { description }), inputSchema, ...(provider && { provider }) };
}

/** A frozen, checked copy of a setting. The check comes before the write, because a malformed setting in the log has no effect. */
export function checkSetting(value: unknown, thread: Thread): AiSettingPayload {
  const payload = copied(value);
  const { opId, contextRef, setting } = payload;
  if (typeof opId !== "string" || opId === "") throw invalid("opId must be a non-empty string");
  for (const field of ["by", "reason", "requestId"]) {
    const text = payload[field];
    if (text !== undefined && typeof text !== "string") throw invalid(`${field} must be text`);
  }
  const trouble = isPlainObject(setting) ? troubleIn(setting as JsonObject) : "setting must be an object with a type"; // JSON
  if (trouble !== undefined) throw invalid(trouble);
  if (contextRef !== undefined) checkLane(contextRef, thread);
  return payload as unknown as AiSettingPayload; // all fields are checked
}

/** A setting must not be the first entry of its lane: a later branch could not begin that lane. */
function checkLane(lane: unknown, thread: Thread): void {
  if (typeof lane !== "string" || lane === "") throw invalid("contextRef must be the name of a lane");
  if (lane === DEFAULT_LANE || isWritten(thread, lane)) return;
  const message = `Lane ${JSON.stringify(lane)} does not exist. Switch to it or branch into it first.`;
  throw new SettingError({ code: "setting_lane_unknown", message });
}

/** The id of a setting's entry. It is made from the `opId`, so that a store accepts a setting only once. */
export function settingId(opId: string): string {
  const id = `set_${opId}`;
  try {
    checkName("opId", id);
    return id;
  } catch (cause) {
    throw invalid(HeddleError.isInstance(cause) ? cause.message : "opId is not a name", cause);
  }
}

/** Whether the loaded log has the setting. Other content under its `opId` is an error. The store checks entries that are not loaded. */
export function isSettingKnown(thread: Thread, payload: AiSettingPayload): boolean {
  const { opId } = payload;
  settingId(opId); // refuse a bad id
  const known = thread.filterByKind("ai_setting", { partial: true }).find((entry) => entry.payload.opId === opId);
  if (known === undefined) return false;
  if (sameJson(known.payload as JsonObject, payload as JsonObject)) return true; // every payload is a JSON object
  throw settingIdReused(opId);
}

export function settingIdReused(opId: string): SettingError {
  const message = `The setting ${opId} was made before with other content. Give a new setting a new opId.`;
  return new SettingError({ code: "setting_id_reused", message });
}

/** The newest setting of the same name and level. */
export function newestSetting(
  thread: Thread,
  { contextRef, setting }: Omit<AiSettingPayload, "opId">,
): Entry | undefined {
  const { base } = thread;
  const early = contextRef === undefined ? base?.settings : laneBaseOf(base, contextRef)?.settings;
  const all: readonly Entry[] = [...(early ?? []), ...thread.filterByKind("ai_setting", { partial: true })];
  return all.findLast((entry) => namedLane(entry) === contextRef && settingName(entry) === nameOf(setting));
}

function copied(value: unknown): JsonObject {
  try {
    return copyJsonObject(value, "setting");
  } catch (cause) {
    throw invalid(HeddleError.isInstance(cause) ? cause.message : "The setting could not be read", cause);
  }
}

function invalid(trouble: string, cause?: unknown): SettingError {
  return new SettingError({ code: "setting_invalid", message: trouble.endsWith(".") ? trouble : `${trouble}.`, cause });
}
