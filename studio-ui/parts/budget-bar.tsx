import type { Budget } from "heddle/core";
import { count, percent } from "./format.ts";

const PARTS = ["system", "tools", "summary", "history", "pending", "reserve", "free"] as const;
export type BudgetPart = (typeof PARTS)[number];

export function partsOf(budget: Budget): Readonly<Record<BudgetPart, number>> {
  const { system, tools, summary, history, pending, reserveOutputTokens: reserve, maxInputTokens } = budget;
  const free = Math.max(0, maxInputTokens - system - tools - summary - history - pending - reserve);
  return { system, tools, summary, history, pending, reserve, free };
}

/** Shows how many tokens each part of a context uses, as a bar and as text. */
export function BudgetBar({ budget, label }: { readonly budget: Budget; readonly label: string }) {
  const parts = partsOf(budget);
  const shown = PARTS.filter((part) => parts[part] > 0);
  return (
    <figure
      class="budget"
      aria-label={`${label}: ${shown.map((part) => `${part} ${count(parts[part])}`).join(", ")} tokens`}
    >
      <div class="budget-bar" aria-hidden="true">
        {shown.map((part) => (
          <span
            key={part}
            class={`part-${part}`}
            style={{ flexGrow: parts[part] }}
            title={`${part} ${count(parts[part])}`}
          />
        ))}
      </div>
      <figcaption>
        {PARTS.map((part) => (
          <span key={part} class={parts[part] === 0 ? "legend none" : "legend"}>
            <i class={`part-${part}`} /> {part} <b>{count(parts[part])}</b>
          </span>
        ))}
        <span class="legend total">
          of <b>{count(budget.maxInputTokens)}</b> · {percent(1 - parts.free / budget.maxInputTokens)} taken
        </span>
      </figcaption>
    </figure>
  );
}
