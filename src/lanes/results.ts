import type { ResultText } from "../thread/results.ts";

export { resultText } from "../thread/results.ts";

/** The synthetic result of a call that has none. */
export const INTERRUPTED: ResultText = {
  content: JSON.stringify({
    error: { type: "interrupted", message: "The call was interrupted; its outcome is unknown." },
  }),
  isError: true,
};
