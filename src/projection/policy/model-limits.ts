import { MODEL_TABLE, type ModelRow } from "./model-table.ts";

/** The limits of a model, in tokens. */
export interface ModelLimits {
  readonly window: number;
  /** The longest answer, if the catalog has it. */
  readonly output?: number;
}

/** Matches Claude names with a dot in the version, as gateways write them. */
const DOTTED_CLAUDE = /(claude-(?:[a-z]+-)?\d)\.(\d)/;

/**
 * The limits of a model, or undefined. A name is `provider:model`, `provider/model` or the model alone. The provider may
 * be anywhere before the model, as in "openrouter/openai/gpt-5" or "us.anthropic.claude-sonnet-4-20250514-v1:0". An
 * unknown provider may serve any model of the table. An equal name wins. Else the longest prefix that ends at a `-`, `@`
 * or `:` wins, so that dates and "latest" need no rows.
 */
export function limitsOf(model: string): ModelLimits | undefined {
  const row = rowOf(model.toLowerCase().replace(DOTTED_CLAUDE, "$1-$2"));
  if (row === undefined) return undefined;
  const [, window, output] = row;
  return output === undefined ? { window } : { window, output };
}

function rowOf(model: string): ModelRow | undefined {
  for (const { index } of model.matchAll(/[:/.]/g)) {
    const row = longest(rowsOf(model.slice(0, index)), model.slice(index + 1));
    if (row !== undefined) return row;
  }
  const name = model.slice(Math.max(model.lastIndexOf("/"), model.indexOf(":")) + 1);
  return longest(Object.values(MODEL_TABLE).flat(), name);
}

/** Returns the table rows of the provider whose name ends the text `before`. */
function rowsOf(before: string): readonly ModelRow[] {
  const name = before.slice(Math.max(before.lastIndexOf("/"), before.lastIndexOf(":"), before.lastIndexOf(".")) + 1);
  return (Object.hasOwn(MODEL_TABLE, name) ? MODEL_TABLE[name] : undefined) ?? [];
}

function longest(rows: readonly ModelRow[], name: string): ModelRow | undefined {
  let best: ModelRow | undefined;
  for (const row of rows) if (begins(row[0], name) && row[0].length > (best?.[0].length ?? 0)) best = row;
  return best;
}

/**
 * Whether `name` is the model `start` with a suffix. "gpt-5-2025-08-07" is "gpt-5", but "gpt-5.7" and "gpt-50" are
 * other models.
 */
function begins(start: string, name: string): boolean {
  return name.startsWith(start) && (name.length === start.length || /[-@:]/.test(name.charAt(start.length)));
}
