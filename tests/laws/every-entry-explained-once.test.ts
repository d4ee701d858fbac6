import { explain, type ProjectionInput, project } from "heddle";
import { expect, test } from "vitest";
import { always } from "../projection/support/trial.ts";

test("every entry has one explanation, and it agrees with what is shown", () => {
  always(project, ({ provenance }, input) => {
    const explained = explain(input);
    const entries = input.thread.toArray();
    expect(explained.map(({ seq, kind }) => ({ seq, kind }))).toEqual(entries.map(({ seq, kind }) => ({ seq, kind })));
    for (const { seq, status, rule, message } of explained) {
      const first = provenance.findIndex(({ seqs }) => seqs.includes(seq));
      const isShown = ["shown", "cleared", "repaired"].includes(status);
      // A context that was replaced is in use even when it says nothing.
      if (rule !== "context_in_use") expect(isShown, `entry ${seq}: ${status}, ${rule}`).toBe(first >= 0);
      if (first >= 0) expect(isShown, `entry ${seq}: ${status}, ${rule}`).toBe(true);
      expect(message, `entry ${seq}`).toBe(first < 0 ? undefined : first);
    }
    const clear = explained.filter(({ status }) => status === "cleared").map(({ seq }) => seq);
    const cleared = provenance.flatMap(({ rule, seqs }) => (rule === "cleared" ? seqs : []));
    expect(
      cleared.filter((seq) => input.thread.at(seq)?.kind !== "ai_context_operation").sort((a, b) => a - b),
    ).toEqual(clear);
  });
});

test("the tokens of what is shown, of system prompt, tools and stand-ins are all that is sent", () => {
  const withoutPending = ({ pending: _pending, ...input }: ProjectionInput) => project(input);
  always(withoutPending, ({ provenance, meta }, { pending: _pending, ...input }) => {
    const explained = explain(input).filter(({ status }) => ["shown", "cleared", "repaired"].includes(status));
    const standIns = provenance.filter(({ rule }) => rule === "stand_in").map(({ tokens }) => tokens);
    const counted = [...explained.map(({ tokens }) => tokens), ...standIns, meta.budget.system, meta.budget.tools];
    expect(counted.reduce((sum, tokens) => sum + tokens, 0)).toBe(meta.estimatedTokens);
  });
});
