import { readFileSync } from "node:fs";
import type { Message } from "heddle";
import { describe, expect, test } from "vitest";
import type { ProjectorName } from "../../src/projection/rules.ts";
import { type GoldenInput, projectGolden } from "../golden/projector-v1-project.ts";
import { told } from "./given.ts";

interface Golden {
  readonly input: Omit<GoldenInput, "entries">;
  readonly entries: GoldenInput["entries"];
  readonly messages: readonly Message[];
  readonly fingerprint: string;
}

interface Corpus {
  readonly projector: ProjectorName;
  readonly corpus: readonly Golden[];
}

const read = (name: string): Corpus =>
  JSON.parse(readFileSync(new URL(`../golden/${name}.json`, import.meta.url), "utf8"));

describe.each([
  ["heddle/1", read("projector-v1")],
  ["heddle/1.1", read("projector-v1.1")],
] as const)("the projector %s shows what it has always shown", (name, { projector, corpus }) => {
  test.each(corpus.map((golden) => [golden.input.name, golden] as const))(
    "of %s",
    (_, { input, entries, messages, fingerprint }) => {
      const now = projectGolden({ ...input, entries }, projector);
      // First as one reads it, then every field of each message, at last the bytes.
      expect(told(now)).toEqual(told({ messages }));
      for (const [at, message] of messages.entries()) expect(now.messages[at], `message ${at}`).toEqual(message);
      expect(now.messages.map((message) => JSON.stringify(message))).toEqual(
        messages.map((message) => JSON.stringify(message)),
      );
      expect(now.meta.fingerprint, "the messages are the same: the chain of hashes differs").toBe(fingerprint);
    },
  );

  test("the corpus has one case for each name", () => {
    expect(projector).toBe(name);
    expect(corpus.length).toBeGreaterThanOrEqual(25);
    expect(new Set(corpus.map(({ input }) => input.name)).size).toBe(corpus.length);
  });
});

test("the corpus of heddle/1 has no shortcut to its answers", () => {
  const { corpus } = read("projector-v1");
  expect(new Set(corpus.map(({ fingerprint }) => fingerprint)).size).toBe(corpus.length);
});
