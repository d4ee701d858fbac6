import type { JsonObject, JsonValue } from "heddle";
import { describe, expect, test } from "vitest";
import { advance, type LaneTrack, laneOf, NO_LANES, stateOf, withMeasure } from "../../src/lanes/track.ts";

type Tracked = Parameters<typeof advance>[1];

const message = (contextRef?: JsonValue) => ({ kind: "message", payload: { contextRef } });
const summary = (toSeq: JsonValue | undefined, contextRef?: string) => ({
  kind: "summary",
  payload: { toSeq, content: "S", contextRef },
});
const operate = (operation: JsonValue, contextRef: JsonValue = "default") => ({
  kind: "ai_context_operation",
  payload: { opId: "o", contextRef, operation },
});
const resultContext = { id: "c", entries: [] };
const replace = (baseSeq?: JsonValue) => operate({ type: "replace", reason: "manual", baseSeq, resultContext });
const switchTo = (lane: JsonValue) => operate({ type: "switch", reason: "manual" }, lane);

/** The track after these entries, each of measure 1. */
const trackAfter = (...entries: { kind: string; payload: JsonObject }[]): LaneTrack =>
  entries.reduce((track, entry, seq) => advance(track, { ...entry, seq } as Tracked, 1), NO_LANES);
const defaultLane = (...entries: { kind: string; payload: JsonObject }[]) => stateOf(trackAfter(...entries), "default");

describe("the lane of an entry", () => {
  test("is the one it names, else the one active at its place", () => {
    const track = trackAfter(switchTo("side"));
    expect(laneOf(message("other"), track)).toBe("other");
    expect(laneOf(message(), track)).toBe("side");
    expect(laneOf(message(), NO_LANES)).toBe("default");
  });

  test.each([[""], [5], [null], [["x"]], [{}]])("is the active one when it names %j", (contextRef) => {
    expect(laneOf(message(contextRef), NO_LANES)).toBe("default");
  });
});

describe("measures", () => {
  test("are summed lane by lane", () => {
    const { lanes } = trackAfter(
      message(),
      message("side"),
      message(),
      switchTo("side"),
      message(),
      message("default"),
    );
    expect(lanes).toEqual({ default: { measure: 3 }, side: { measure: 3 } });
  });

  test("count for lanes whatever they are called", () => {
    const names = ["constructor", "__proto__", "toString", "hasOwnProperty"];
    const track = trackAfter(...names.map(message), ...names.map(message));
    for (const name of names) expect(stateOf(track, name)).toEqual({ measure: 2 });
    expect(Object.keys(track.lanes)).toEqual(names);
    expect(Object.getPrototypeOf(track.lanes)).toBe(Object.prototype);
    expect(JSON.parse(JSON.stringify(track))).toEqual(track);
  });

  test("of lanes nothing was written to are unknown", () => {
    for (const name of ["default", "constructor", "__proto__"]) expect(stateOf(NO_LANES, name)).toBeUndefined();
  });

  test("can be set for one lane and leave all else", () => {
    const track = trackAfter(message(), replace(), message("side"));
    expect(withMeasure(track, "default", 9)).toEqual({
      active: "default",
      lanes: { default: { measure: 9, replaceSeq: 1, replaceBase: 1 }, side: { measure: 1 } },
    });
    expect(withMeasure(track, "new", 4).lanes["new"]).toEqual({ measure: 4 });
    expect(stateOf(withMeasure(track, "__proto__", 4), "__proto__")).toEqual({ measure: 4 });
    expect(withMeasure(track, "new", 0)).toBe(track);
    expect(stateOf(withMeasure(track, "side", 0), "side")).toEqual({ measure: 0 });
    expect(stateOf(track, "default")?.measure).toBe(2);
  });
});

describe("a switch", () => {
  test("makes its lane the active one, from then on", () => {
    expect(trackAfter(message()).active).toBe("default");
    expect(trackAfter(switchTo("a"), switchTo("b")).active).toBe("b");
    expect(trackAfter(switchTo("a"), replace()).active).toBe("a");
  });

  test.each([
    ["no lane", operate({ type: "switch" }, "")],
    ["a lane that is no text", operate({ type: "switch" }, 7)],
    ["no operation", operate(null)],
    ["a list of operations", operate([{ type: "switch" }])],
    ["another type", operate({ type: "Switch" })],
    ["another kind", { kind: "note", payload: { contextRef: "a", operation: { type: "switch" } } }],
  ])("with %s switches nothing", (_, entry) => {
    expect(trackAfter(switchTo("x"), entry).active).toBe("x");
  });
});

describe("a summary", () => {
  test("counts up to its toSeq, at most up to itself", () => {
    expect(defaultLane(message(), message(), summary(1))).toMatchObject({ summarySeq: 2, summaryTo: 1 });
    expect(defaultLane(message(), summary(99))).toMatchObject({ summarySeq: 1, summaryTo: 1 });
  });

  test("that reaches further wins, then the newer; a narrower one changes nothing", () => {
    expect(defaultLane(message(), message(), summary(0), summary(1))).toMatchObject({ summarySeq: 3, summaryTo: 1 });
    expect(defaultLane(message(), message(), summary(1), summary(1))).toMatchObject({ summarySeq: 3, summaryTo: 1 });
    expect(defaultLane(message(), message(), summary(1), summary(0))).toMatchObject({ summarySeq: 2, summaryTo: 1 });
  });

  test("belongs to its own lane", () => {
    const track = trackAfter(message(), summary(0, "side"));
    expect(stateOf(track, "default")).toEqual({ measure: 1 });
    expect(stateOf(track, "side")).toEqual({ measure: 1, summarySeq: 1, summaryTo: 0 });
  });

  test.each([undefined, null, 7, [], {}])(
    "with %j as content is a plain entry, and the one before it stays",
    (content) => {
      const broken = { kind: "summary", payload: { toSeq: 1, content } };
      expect(defaultLane(message(), message(), broken)).toEqual({ measure: 3 });
      expect(defaultLane(message(), message(), summary(1), broken)).toMatchObject({ summarySeq: 2, summaryTo: 1 });
    },
  );

  test.each([undefined, null, "1", 1.5, {}, -2])("to %j is a plain entry", (toSeq) => {
    expect(defaultLane(message(), summary(toSeq))).toEqual({ measure: 2 });
  });
});

describe("a replace", () => {
  test("has its own seq as its base, or an earlier one", () => {
    expect(defaultLane(message(), replace())).toMatchObject({ replaceSeq: 1, replaceBase: 1 });
    expect(defaultLane(message(), message(), replace(0))).toMatchObject({ replaceSeq: 2, replaceBase: 0 });
    expect(defaultLane(message(), replace(9))).toMatchObject({ replaceSeq: 1, replaceBase: 1 });
  });

  test("is superseded by the next one, also when that reaches less far", () => {
    expect(defaultLane(message(), replace(), replace(0))).toMatchObject({ replaceSeq: 2, replaceBase: 0 });
  });

  test("kills the summaries that reach no further than its base", () => {
    const before = [message(), message(), summary(1)];
    expect(defaultLane(...before, replace(1))).toEqual({ measure: 4, replaceSeq: 3, replaceBase: 1 });
    expect(defaultLane(...before, replace(0))).toMatchObject({ replaceSeq: 3, summarySeq: 2, summaryTo: 1 });
    expect(defaultLane(...before, replace(1), replace(0))).not.toHaveProperty("summarySeq");
  });

  test("leaves space for later summaries that reach further", () => {
    const before = [message(), replace(), message()];
    expect(defaultLane(...before, summary(1))).not.toHaveProperty("summarySeq");
    expect(defaultLane(...before, summary(2))).toMatchObject({ replaceSeq: 1, summarySeq: 3, summaryTo: 2 });
  });

  test.each([undefined, null, "context", [], {}, { entries: "none" }, { systemPrompt: "Be brief." }])(
    "with %j as its context is a plain entry",
    (resultContext) => {
      const broken = operate({ type: "replace", resultContext });
      expect(defaultLane(message(), summary(0), broken)).toEqual({ measure: 3, summarySeq: 1, summaryTo: 0 });
    },
  );

  test.each([null, "0", 0.5, {}])("with the base %j is a plain entry", (baseSeq) => {
    expect(defaultLane(message(), summary(0), replace(baseSeq))).toEqual({ measure: 3, summarySeq: 1, summaryTo: 0 });
  });
});
