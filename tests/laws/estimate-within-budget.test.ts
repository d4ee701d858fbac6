import { heuristic } from "heddle";
import { countMessage, countTools } from "heddle/core";
import { expect, test } from "vitest";
import { implementations } from "../projection/support/implementations.ts";
import { always } from "../projection/support/trial.ts";

test.each(implementations)("%s: what is sent fits, and its parts add up to the estimate", (_, project) => {
  always(project, ({ messages, toolSpec, provenance, meta }, { model }) => {
    const { budget, estimatedTokens } = meta;
    const { maxInputTokens, reserveOutputTokens, system, tools, summary, pending, history, available } = budget;
    expect(provenance.map(({ tokens }) => tokens)).toEqual(
      messages.map((message) => countMessage(message, heuristic, model)),
    );
    expect(tools).toBe(countTools(toolSpec, heuristic, model));
    expect(estimatedTokens).toBe(provenance.reduce((sum, { tokens }) => sum + tokens, tools));
    expect(estimatedTokens).toBe(system + tools + summary + history + pending);
    expect(available).toBe(maxInputTokens - reserveOutputTokens - system - tools - summary - pending);
    expect(history).toBeLessThanOrEqual(available);
    expect(estimatedTokens).toBeLessThanOrEqual(maxInputTokens - reserveOutputTokens);
  });
});
