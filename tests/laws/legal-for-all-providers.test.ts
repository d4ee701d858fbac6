import { validateMessages } from "heddle/providers";
import { expect, test } from "vitest";
import { implementations } from "../projection/support/implementations.ts";
import { always } from "../projection/support/trial.ts";

const providers = ["openai-chat", "openai-responses", "anthropic", "gemini"] as const;

test.each(implementations)("%s: whatever happened, no provider refuses what is shown", (_, project) => {
  always(
    project,
    ({ messages, provenance, meta }) => {
      const isShown = provenance.some(({ segment }) => segment !== "system");
      // Nothing to show is no request; an answer at the end is the log's last word.
      const allowed = !isShown ? ["empty_list"] : meta.open ? [] : ["trailing_assistant"];
      for (const provider of providers) {
        const broken = validateMessages(messages, provider).filter(({ rule }) => !allowed.includes(rule));
        expect(broken, provider).toEqual([]);
      }
    },
    600,
  );
});
