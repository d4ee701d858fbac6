import { ContextPolicy } from "heddle";
import { expect, test } from "vitest";
import { entriesOf, knownOf } from "../projection/support/asked.ts";
import { implementations } from "../projection/support/implementations.ts";
import { openOf } from "../projection/support/oracle/blocks.ts";
import { always } from "../projection/support/trial.ts";

const speaking = ["message", "tool_call", "tool_result", "ai_message"];

test.each(implementations)(
  "%s: from its start on the history leaves out nothing it does not name, and before it there is only the head",
  (_, project) => {
    always(project, ({ messages, provenance, meta }, input) => {
      const { includeKinds } = ContextPolicy.create(input.policy);
      const start = meta.view.startSeq ?? input.thread.rev;
      const shown = provenance.flatMap(({ segment, seqs }) => (segment === "summary" ? [] : seqs));
      const known = knownOf(input);
      const own = known.places.filter(({ item, pending }) => item === undefined && !pending);
      const said = own.filter(({ kind }) => speaking.includes(kind) && includeKinds.includes(kind));
      const joined = known.structure.blocks.filter((block) => openOf(block) < start).flatMap(entriesOf);
      const named = new Set([...shown, ...meta.dropped, ...joined.map(({ seq }) => seq)]);
      for (const { seq } of said.filter(({ seq }) => seq > start)) {
        expect(named, `entry ${seq}`).toContain(seq);
      }
      const heads = provenance.filter(({ rule }) => rule === "head");
      const older = own.filter(({ seq }) => seq < start).map(({ seq }) => seq);
      const isFromContext = meta.view.startItem !== undefined;
      const early = provenance.filter(
        ({ segment, seqs }) => segment !== "summary" && seqs.some((seq) => older.includes(seq)),
      );
      if (!isFromContext) for (const { rule } of early) expect(rule).toBe("head");

      const spoken = provenance.findIndex(({ segment }) => segment === "history" || segment === "pending");
      expect(provenance.slice(spoken, spoken + heads.length)).toEqual(heads);
      expect([...new Set(heads.flatMap(({ seqs }) => seqs))]).toEqual(
        meta.view.headSeqs.filter((seq) => seq < input.thread.rev),
      );
      for (const [index, { rule }] of provenance.entries())
        if (rule === "head") expect(messages[index]?.role).toBe("user");
      const segments = provenance.map(({ segment }) => ["system", "summary", "history", "pending"].indexOf(segment));
      expect(segments).toEqual(segments.toSorted((a, b) => a - b));
    });
  },
);
