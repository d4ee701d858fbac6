/**
 * Makes the golden corpus of projector "heddle/1". Run it until Heddle 0.1 is released; from then on the file says what
 * models were shown and is never made again: a later version that shows anything else has broken a promise.
 *
 * node tests/golden/make-projector-v1.ts
 */
import { writeFileSync } from "node:fs";
import { projectGolden } from "./projector-v1-project.ts";
import { goldenInputs } from "./projector-v1-threads.ts";

/** One entry and one message a line, so that a change can be read. */
const lines = (list: readonly unknown[]): string => `[\n${list.map((item) => JSON.stringify(item)).join(",\n")}\n]`;

const corpus = goldenInputs.map((input) => {
  const { entries, ...rest } = input;
  const { messages, meta } = projectGolden(input);
  const fields = [
    `"input": ${JSON.stringify(rest)}`,
    `"entries": ${lines(entries)}`,
    `"messages": ${lines(messages)}`,
    `"fingerprint": ${JSON.stringify(meta.fingerprint)}`,
  ];
  return `{\n${fields.join(",\n")}\n}`;
});
const file = new URL("./projector-v1.json", import.meta.url);
writeFileSync(file, `{\n"projector": "heddle/1",\n"corpus": [${corpus.join(",\n")}]\n}\n`);
