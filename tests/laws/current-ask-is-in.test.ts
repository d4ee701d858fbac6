import { expect, test } from "vitest";
import { openAsk } from "../projection/support/asked.ts";
import { implementations } from "../projection/support/implementations.ts";
import { always } from "../projection/support/trial.ts";
import { expectOften } from "../support/case-budget.ts";

test.each(implementations)(
  "%s: the ask that is open is shown, with all that was steered into it and is new",
  (_, project) => {
    const seen = { cases: 0, asks: 0 };
    always(project, ({ messages, provenance }, input) => {
      seen.cases++;
      const ask = openAsk(input);
      const shown = provenance.flatMap(({ segment, seqs }) => (segment === "history" ? seqs : []));
      for (const { seq } of ask.filter(({ pending }) => !pending)) expect(shown).toContain(seq);
      const waiting = provenance.filter(
        ({ segment }, index) => segment === "pending" && messages[index]?.role === "user",
      );
      expect(waiting.length).toBeGreaterThanOrEqual(ask.filter(({ pending }) => pending).length);
      seen.asks += ask.length;
    });
    expectOften(seen.asks, seen.cases, 0.2);
  },
);
