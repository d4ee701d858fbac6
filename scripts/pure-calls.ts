import type { Plugin } from "rolldown";
import { parseAst } from "rolldown/parseAst";

type Node = { readonly type: string; readonly start: number; readonly [field: string]: unknown };

/** Their code runs later, or it may not be moved. */
const NOT_AT_LOAD =
  /^(?:ArrowFunctionExpression|FunctionExpression|FunctionDeclaration|ExpressionStatement|MethodDefinition)$/;

/**
 * Marks calls that initialize a constant of a module as pure, so that a bundler leaves the constant out where it is not used.
 * Our modules have no other effects when they load; `sideEffects` in package.json says so only for whole files.
 */
export const pureCalls: Plugin = {
  name: "pure-calls",
  renderChunk(code) {
    const starts = new Set<number>();
    for (const statement of parseAst(code).body as unknown as Node[]) collect(statement, starts);
    let marked = "";
    let at = 0;
    for (const start of [...starts].sort((a, b) => a - b)) {
      const before = code.slice(at, start);
      marked += /\/\* ?[@#]__PURE__ ?\*\/ ?$/.test(before) ? before : `${before}/* @__PURE__ */ `;
      at = start;
    }
    return marked + code.slice(at);
  },
};

function collect(value: unknown, starts: Set<number>): void {
  if (Array.isArray(value)) for (const item of value) collect(item, starts);
  if (!isNode(value) || NOT_AT_LOAD.test(value.type)) return;
  if (value.type === "CallExpression" || value.type === "NewExpression") starts.add(value.start);
  for (const field of Object.values(value)) collect(field, starts);
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && typeof (value as Node).type === "string";
}
