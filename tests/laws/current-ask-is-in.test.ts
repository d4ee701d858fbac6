import { expect, test } from "vitest";
import { openAsk } from "../projection/support/asked.ts";
import { implementations } from "../projection/support/implementations.ts";
import { always } from "../projection/support/trial.ts";

test.each(implementations)("%s: the ask that is open is shown, with all that was steered into it", (_, project) => {
  let asked = 0;
  always(project, ({ messages, provenance }, input) => {
    const ask = openAsk(input);
    const shown = provenance.flatMap(({ segment, seqs }) => (segment === "history" ? seqs : []));
    for (const { seq } of ask.filter(({ pending }) => !pending)) expect(shown).toContain(seq);
    const waiting = provenance.filter(
      ({ segment }, index) => segment === "pending" && messages[index]?.role === "user",
    );
    expect(waiting.length).toBeGreaterThanOrEqual(ask.filter(({ pending }) => pending).length);
    asked += ask.length;
  });
  expect(asked).toBeGreaterThan(30);
});
