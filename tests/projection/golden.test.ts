import { readFileSync } from "node:fs";
import type { Message } from "heddle";
import { describe, expect, test } from "vitest";
import { type GoldenInput, projectGolden } from "../golden/projector-v1-project.ts";
import { told } from "./given.ts";

interface Golden {
  readonly input: Omit<GoldenInput, "entries">;
  readonly entries: GoldenInput["entries"];
  readonly messages: readonly Message[];
  readonly fingerprint: string;
}

const file = new URL("../golden/projector-v1.json", import.meta.url);
const { projector, corpus }: { projector: string; corpus: readonly Golden[] } = JSON.parse(readFileSync(file, "utf8"));

describe("the projector heddle/1 shows what it has always shown", () => {
  test.each(corpus.map((golden) => [golden.input.name, golden] as const))(
    "of %s",
    (_, { input, entries, messages, fingerprint }) => {
      const now = projectGolden({ ...input, entries });
      // First as one reads it, then every field of each message, at last the bytes.
      expect(told(now)).toEqual(told({ messages }));
      for (const [at, message] of messages.entries()) expect(now.messages[at], `message ${at}`).toEqual(message);
      expect(now.messages.map((message) => JSON.stringify(message))).toEqual(
        messages.map((message) => JSON.stringify(message)),
      );
      expect(now.meta.fingerprint, "the messages are the same: the chain of hashes differs").toBe(fingerprint);
    },
  );
});

test("the corpus has one case for each name, and no shortcut to its answers", () => {
  expect(projector).toBe("heddle/1");
  expect(corpus.length).toBeGreaterThanOrEqual(25);
  expect(new Set(corpus.map(({ input }) => input.name)).size).toBe(corpus.length);
  expect(new Set(corpus.map(({ fingerprint }) => fingerprint)).size).toBe(corpus.length);
});
