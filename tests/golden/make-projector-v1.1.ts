/**
 * Makes the golden corpus of projector "heddle/1.1". Run it until Heddle 0.2 is released; from then on the file says what
 * models were shown and is never made again: a later version that shows anything else has broken a promise.
 *
 * node tests/golden/make-projector-v1.1.ts
 */
import { corpusText } from "./projector-corpus.ts";
import { writeFileSync } from "node:fs";
import { goldenInputs11 } from "./projector-v1.1-threads.ts";

writeFileSync(new URL("./projector-v1.1.json", import.meta.url), corpusText(goldenInputs11, "heddle/1.1"));
