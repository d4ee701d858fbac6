import { expect, test } from "vitest";
import { implementations } from "../projection/support/implementations.ts";
import { always } from "../projection/support/trial.ts";

test.each(implementations)("%s: history is shown in the order in which it happened", (_, project) => {
  always(project, ({ messages, provenance }, { thread }) => {
    const firsts = provenance.flatMap(({ segment, seqs }, index) => {
      const [first] = seqs;
      const isResult = messages[index]?.role === "tool"; // it stands with its call
      const isOfContext = first !== undefined && thread.at(first)?.kind === "ai_context_operation";
      return segment !== "history" || first === undefined || isResult || isOfContext ? [] : [first];
    });
    expect(firsts).toEqual([...new Set(firsts)].sort((a, b) => a - b));
  });
});
