import type { JsonObject } from "heddle";
import { PROJECTOR } from "heddle/core";
import type { ProjectorName } from "../../../../src/projection/rules.ts";
import { isPlainObject } from "../../../../src/thread/json.ts";
import { baseOf, type Logged, measureOf, operationOf, reachOf, sum } from "./log.ts";

/** An entry, or a message of a replaced context, at its place in the view of a lane. */
export interface Place extends Logged {
  /** What orders it: its seq, the base of the replace for a message of the replaced context. */
  readonly open: number;
  readonly position: number;
  /** Which message of a replaced context it is. */
  readonly item?: number;
  readonly inherited: boolean;
  /** A summary that still counts. */
  readonly standing: boolean;
  /** A replace, whether or not it is the one in force. */
  readonly replaces: boolean;
}

export interface Folded {
  readonly places: readonly Place[];
  /** Of all entries of the lane. */
  readonly measure: number;
  readonly systemPrompt?: string;
}

export function fold(log: readonly Logged[], lane: string, rules: ProjectorName = PROJECTOR): Folded {
  const own = log.filter((entry) => entry.lane === lane);
  const measure = sum(own.map(({ payload }) => measureOf(payload)));
  const positionOf = (index: number) => sum(own.slice(0, index).map(({ payload }) => measureOf(payload)));
  const anchor = own.findLast((entry) => baseOf(entry) !== undefined);
  const base = (anchor && baseOf(anchor)) ?? Number.NEGATIVE_INFINITY;
  const cut = (place: Place) => (rules === "heddle/1" ? place : asCut(place, own));
  const places = own
    .map(
      (entry, index): Place => ({
        ...entry,
        open: entry.seq,
        position: positionOf(index),
        inherited: false,
        standing: isStanding(entry, own),
        replaces: baseOf(entry) !== undefined,
      }),
    )
    .filter(({ seq }) => seq > base);
  if (anchor !== undefined) {
    const { items, systemPrompt } = contextOf(anchor);
    const snapshot = snapshotOf(items, anchor, base, places[0]?.position ?? measure);
    return { places: [...snapshot, ...places].map(cut), measure, ...(systemPrompt !== undefined && { systemPrompt }) };
  }
  const from = own[0] && inherited(log, own[0], rules);
  return { ...from, places: [...(from?.places ?? []), ...places].map(cut), measure };
}

/** An answer as the newest note of the lane has cut it. */
function asCut(place: Place, lane: readonly Logged[]): Place {
  const { kind, seq, payload } = place;
  if (place.item !== undefined || payload["role"] !== "assistant" || !["message", "ai_message"].includes(kind))
    return place;
  const notes = lane.flatMap(({ kind, seq: at, payload: { cut } }) => {
    if (kind !== "note" || !isPlainObject(cut) || cut["seq"] !== seq || at <= seq) return [];
    const { characters } = cut;
    return Number.isSafeInteger(characters) && Number(characters) >= 0 ? [Number(characters)] : [];
  });
  const [characters] = notes.slice(-1);
  if (characters === undefined) return place;
  const { content, toolCalls, thinking, ...others } = payload;
  const calls = Array.isArray(toolCalls) ? toolCalls.length : 0;
  const list: readonly unknown[] = Array.isArray(content)
    ? content
    : typeof content === "string"
      ? [{ type: "text", text: content }]
      : [];
  const parts = list.map((part) => (isPlainObject(part) ? part : {}));
  const acts = calls > 0 || parts.some(({ type }) => type === "provider_call");
  const shown = parts.flatMap((part, index) => {
    if (part["type"] === "text" && typeof part["text"] === "string") {
      const before = sum(
        parts.slice(0, index).map(({ type, text }) => (type === "text" && typeof text === "string" ? text.length : 0)),
      );
      const text = whole(part["text"], characters - before);
      if (text === "") return [];
      return [acts && text === part["text"] ? list[index] : { type: "text", text }];
    }
    return acts && part["type"] !== "file" && part["type"] !== "source" ? [list[index]] : [];
  });
  const text = typeof content === "string" ? whole(content, characters) : shown;
  const kept = { ...(toolCalls !== undefined && { toolCalls }), ...(acts && thinking !== undefined && { thinking }) };
  return { ...place, payload: { ...others, ...kept, content: text } as JsonObject };
}

/** The beginning of a text, without half a character at its end. */
function whole(text: string, length: number): string {
  const cut = text.slice(0, Math.max(0, length));
  return /[\uD800-\uDBFF]$/.test(cut) && /^[\uDC00-\uDFFF]/.test(text.slice(cut.length)) ? cut.slice(0, -1) : cut;
}

/** Neither the replace in force when it was written nor any later one has killed it. */
function isStanding(entry: Logged, lane: readonly Logged[]): boolean {
  const reach = reachOf(entry);
  if (reach === undefined || reach < -1) return false;
  const replaces = lane.filter((other) => baseOf(other) !== undefined);
  const inForce = replaces.filter(({ seq }) => seq < entry.seq).slice(-1);
  const later = replaces.filter(({ seq }) => seq > entry.seq);
  return [...inForce, ...later].every((replace) => reach > (baseOf(replace) ?? -1));
}

function contextOf(anchor: Logged): { items: readonly JsonObject[]; systemPrompt: string | undefined } {
  const context = operationOf(anchor)?.["resultContext"];
  const { entries, systemPrompt } = isPlainObject(context) ? context : {};
  const items = Array.isArray(entries) ? (entries as JsonObject[]) : [];
  return { items, systemPrompt: typeof systemPrompt === "string" ? systemPrompt : undefined };
}

function snapshotOf(items: readonly JsonObject[], anchor: Logged, base: number, end: number): Place[] {
  return items.map(
    (payload, item): Place => ({
      ...anchor,
      v: 1,
      payload,
      refs: isPlainObject(payload["refs"]) ? (payload["refs"] as Logged["refs"]) : {},
      open: base,
      position: end - sum(items.slice(item).map(measureOf)),
      item,
      inherited: false,
      standing: false,
      replaces: false,
    }),
  );
}

/** What a lane starts with that branches off another one: the view of that one, measured backwards from the branch. */
function inherited(log: readonly Logged[], first: Logged, rules: ProjectorName): Omit<Folded, "measure"> | undefined {
  const { type, from, atSeq } = operationOf(first) ?? {};
  if (first.malformed || type !== "switch" || typeof from !== "string" || from === "") return undefined;
  const target = first.payload["contextRef"];
  if (typeof target !== "string" || target === "") return undefined;
  if (!Number.isInteger(atSeq) || Number(atSeq) < -1) return undefined;
  const end = Math.min(Number(atSeq), first.seq - 1);
  // Before a lane began, it held what it was to begin with, as far as that was there.
  const beginning = rules === "heddle/1" ? undefined : log.find((entry) => entry.lane === from);
  const isInherited = beginning !== undefined && beginning.seq > end;
  const { measure, ...view } =
    (isInherited ? inheritedUntil(log, beginning, end, rules) : undefined) ??
    fold(
      log.filter(({ seq }) => seq <= end),
      from,
      rules,
    );
  const places = view.places.map((place) => ({ ...place, position: place.position - measure, inherited: true }));
  return { ...view, places };
}

function inheritedUntil(log: readonly Logged[], first: Logged, end: number, rules: ProjectorName): Folded | undefined {
  const { type, from, atSeq } = operationOf(first) ?? {};
  if (first.malformed || type !== "switch" || typeof from !== "string") return undefined;
  const last = Math.min(end, Number(atSeq));
  const beginning = log.find((entry) => entry.lane === from);
  if (beginning !== undefined && beginning.seq > last && beginning.seq < first.seq)
    return inheritedUntil(log, beginning, last, rules);
  return fold(
    log.filter(({ seq }) => seq <= last),
    from,
    rules,
  );
}
