import type { ResultText } from "../thread/results.ts";

export { resultText } from "../thread/results.ts";

/** What stands in for the result of a call that nobody has finished. */
export const INTERRUPTED: ResultText = {
  content: JSON.stringify({
    error: { type: "interrupted", message: "The call was interrupted; its outcome is unknown." },
  }),
  isError: true,
};
