import type { ProjectorName } from "../../src/projection/rules.ts";
import { type GoldenInput, projectGolden } from "./projector-v1-project.ts";

/** One entry and one message a line, so that a change can be read. */
const lines = (list: readonly unknown[]): string => `[\n${list.map((item) => JSON.stringify(item)).join(",\n")}\n]`;

/** The file of a corpus: each input with what a projector shows of it. */
export function corpusText(inputs: readonly GoldenInput[], projector: ProjectorName): string {
  const corpus = inputs.map((input) => {
    const { entries, ...rest } = input;
    const { messages, meta } = projectGolden(input, projector);
    const fields = [
      `"input": ${JSON.stringify(rest)}`,
      `"entries": ${lines(entries)}`,
      `"messages": ${lines(messages)}`,
      `"fingerprint": ${JSON.stringify(meta.fingerprint)}`,
    ];
    return `{\n${fields.join(",\n")}\n}`;
  });
  return `{\n"projector": ${JSON.stringify(projector)},\n"corpus": [${corpus.join(",\n")}]\n}\n`;
}
