import { createProjector, ProjectionError } from "heddle";
import type { Stage, Story } from "./stage.ts";
import { begun, later, TOO_LONG } from "./story-parts.ts";

const LONG = "It was a long story. ".repeat(60);
const SUMMARIZING = {
  autoSummarize: true,
  maxThreadTokens: 100,
  keepLastTurns: 0,
  summarization: "request_new",
} as const;

/** Summaries that are written, fail or are refused, and what happens meanwhile. */
export const SUMMARY_STORIES: readonly Story[] = [
  {
    name: "a summary on its way",
    rules: (prompt) => (prompt.includes("Do it again.") && prompt.includes("summar") ? "They talked." : LONG),
    config: {
      contextPolicy: SUMMARIZING,
      summarizer: { summarize: async () => "They talked." },
    },
    play: async (stage) => {
      await begun(stage);
      await stage.ended();
      await stage.ask("Do it again.");
      await stage.ended();
      await stage.server.summarize().catch(() => undefined);
    },
  },
  {
    name: "a request that waits for a summary from outside",
    rules: () => LONG,
    config: {
      contextPolicy: { summarization: "request_new", maxThreadTokens: 100, keepLastTurns: 0 },
      onNeedsSummary: async () => "They talked.",
    },
    play: async (stage) => {
      await begun(stage);
      await stage.ended();
      await stage.ask("Do it again.");
      await stage.logged("summary");
      await stage.ended();
    },
  },
  {
    name: "a summary that fails",
    rules: () => LONG,
    config: {
      contextPolicy: SUMMARIZING,
      summarizer: { summarize: async () => "" },
    },
    play: async (stage) => {
      await begun(stage);
      await stage.ended();
      await stage.ask("Do it again.");
      await stage.ended();
    },
  },
  {
    name: "a summary that its model refuses for good",
    rules: () => LONG,
    config: {
      contextPolicy: { autoSummarize: true, keepLastTurns: 0, maxInputTokens: 1000, reserveOutputTokens: 10 },
      summarizer: {
        summarize: () =>
          Promise.reject(Object.assign(new Error("flagged as potentially violating"), { statusCode: 400 })),
      },
    },
    play: async (stage) => {
      await begun(stage);
      await stage.ended();
      for (const text of ["Do it again.", "And again.", "Once more."]) {
        await stage.ask(text);
        await stage.ended();
      }
    },
  },
  {
    name: "too long for the model, then short enough",
    rules: (prompt) => (prompt.includes(LONG) ? { error: TOO_LONG } : prompt.includes("Again.") ? "Done." : LONG),
    config: { summarizer: { summarize: async () => "They talked." }, contextPolicy: { keepLastTurns: 0 } },
    play: async (stage) => {
      await begun(stage);
      await stage.ended();
      await stage.ask("Again.");
      await stage.ended();
    },
    ends: ["completed", "failed"],
  },
  {
    name: "words while a summary is written",
    rules: () => LONG,
    config: { contextPolicy: SUMMARIZING },
    timed: (ports) => ({ summarizer: { summarize: () => later(ports, "They talked.") } }),
    play: async (stage) => {
      await duringSummary(stage);
      await stage.steer("Be quick.");
      await stage.ended();
    },
  },
  {
    name: "words while a summary fails",
    rules: () => LONG,
    config: { contextPolicy: SUMMARIZING },
    timed: (ports) => ({ summarizer: { summarize: () => later(ports, "") } }),
    play: async (stage) => {
      await duringSummary(stage);
      await stage.steer("Be quick.");
      await stage.ended();
    },
  },
  {
    name: "cancelled while a summary is written",
    rules: () => LONG,
    config: { contextPolicy: SUMMARIZING },
    timed: (ports) => ({ summarizer: { summarize: () => later(ports, "They talked.") } }),
    play: async (stage) => {
      await duringSummary(stage);
      await stage.server.cancel();
    },
    ends: ["cancelled", "completed"],
  },
  {
    name: "nothing fits any more when the summary is there",
    rules: () => LONG,
    config: { contextPolicy: SUMMARIZING },
    timed: (ports) => {
      const projector = createProjector();
      let isFull = false;
      const summarize = async () => {
        const text = await later(ports, "They talked.");
        isFull = true;
        return text;
      };
      const project: typeof projector.project = (input) => {
        if (!isFull) return projector.project(input);
        isFull = false;
        throw new ProjectionError({ code: "budget_overflow", message: "It does not fit." });
      };
      return { summarizer: { summarize }, projector: { project, explain: (input) => projector.explain(input) } };
    },
    play: async (stage) => {
      await duringSummary(stage);
      await stage.ended();
    },
    ends: ["failed", "completed"],
  },
];

async function duringSummary(stage: Stage): Promise<void> {
  await begun(stage);
  await stage.ended();
  await stage.ask("Do it again.");
}
