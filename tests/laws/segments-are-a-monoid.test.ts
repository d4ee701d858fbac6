import fc from "fast-check";
import { type Message, project } from "heddle";
import { concat, segments } from "heddle/core";
import { expect, test } from "vitest";
import { anyInput } from "../projection/support/threads.ts";
import { always } from "../projection/support/trial.ts";

const lists = anyInput.map((input): readonly Message[] => {
  try {
    return project(input).messages;
  } catch {
    return [];
  }
});

test("system, summary, history and pending, one after the other, are the projection", () => {
  always(project, ({ messages, provenance }, input) => {
    const system = segments.system(input);
    const summary = segments.summary(input);
    const history = segments.history(input);
    const pending = segments.pending(input);
    expect(concat(system, summary, history, pending)).toEqual(messages);
    for (const [segment, list] of Object.entries({ system, summary, history, pending })) {
      expect(list).toEqual(messages.filter((_, index) => provenance[index]?.segment === segment));
    }
  });
});

test("how lists are bracketed makes no difference, and the empty list adds nothing", () => {
  fc.assert(
    fc.property(lists, lists, lists, (a, b, c) => {
      expect(concat(concat(a, b), c)).toEqual(concat(a, concat(b, c)));
      expect(concat(a, b, c)).toEqual([...a, ...b, ...c]);
      expect(concat(a, [])).toEqual(a);
      expect(concat([], a)).toEqual(a);
      expect(concat()).toEqual([]);
    }),
    { numRuns: 50 },
  );
});
