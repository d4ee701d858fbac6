import { globSync, readFileSync } from "node:fs";
import { ts } from "@ts-morph/common";
import { root } from "./root.ts";

/** Objects that change after they were made. */
const MUTABLE_CLASSES = new Set(["Map", "Set", "WeakMap", "WeakSet", "AbortController"]);

/** Methods that change a collection. One that no code of its file changes is a constant. */
const CHANGES = new Set(["set", "add", "delete", "clear", "push", "pop", "shift", "unshift", "splice"]);

/**
 * Places with state that changes in a folder of src, as `path:line name`. A place is a field that is not readonly, or one
 * with a collection or an AbortController. It is also a `let`, or a constant with such an object, of a module or captured
 * by a closure. Each call of `setTimeout` and `setInterval` is a place too.
 */
export function mutablePlaces(folder: string, except: readonly string[]): readonly string[] {
  const paths = globSync(`${folder}/**/*.ts`, { cwd: root }).map((path) => path.replaceAll("\\", "/"));
  return paths.filter((path) => !except.includes(path)).flatMap(placesOf);
}

function placesOf(path: string): readonly string[] {
  const source = ts.createSourceFile(path, readFileSync(root + path, "utf8"), ts.ScriptTarget.Latest, true);
  const changed = changedNames(source);
  const places: string[] = [];
  visit(source);
  return places;

  function visit(node: ts.Node): void {
    const name = mutableName(node, changed);
    if (name !== undefined) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart());
      places.push(`${path}:${line + 1} ${name}`);
    }
    ts.forEachChild(node, visit);
  }
}

function mutableName(node: ts.Node, changed: ReadonlySet<string>): string | undefined {
  if (ts.isPropertyDeclaration(node)) return isMutableField(node, changed) ? node.name.getText() : undefined;
  if (ts.isVariableDeclaration(node)) return isMutableVariable(node, changed) ? node.name.getText() : undefined;
  if (!ts.isCallExpression(node)) return undefined;
  return /^(?:globalThis\.)?set(?:Timeout|Interval)$/.test(node.expression.getText()) ? "timer" : undefined;
}

function isMutableField(field: ts.PropertyDeclaration, changed: ReadonlySet<string>): boolean {
  if (!field.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ReadonlyKeyword)) return true;
  return holdsMutable(field, changed);
}

function isMutableVariable(variable: ts.VariableDeclaration, changed: ReadonlySet<string>): boolean {
  const list = variable.parent;
  if (!ts.isVariableDeclarationList(list)) return false;
  if ((list.flags & ts.NodeFlags.Let) === 0 && !holdsMutable(variable, changed)) return false;
  const scope = list.parent.parent;
  return ts.isSourceFile(scope) || namesOf(variable.name).some((name) => isCaptured(name, scope));
}

function holdsMutable(
  { name, initializer }: ts.PropertyDeclaration | ts.VariableDeclaration,
  changed: ReadonlySet<string>,
): boolean {
  if (initializer === undefined) return false;
  if (ts.isNewExpression(initializer)) {
    const made = initializer.expression.getText();
    return made === "AbortController" || (MUTABLE_CLASSES.has(made) && changed.has(name.getText()));
  }
  return ts.isArrayLiteralExpression(initializer) && changed.has(name.getText());
}

/** Whether a function inside the block uses a variable of the block. */
function isCaptured(name: string, block: ts.Node): boolean {
  return uses(block, false);

  function uses(node: ts.Node, isInside: boolean): boolean {
    if (ts.isIdentifier(node)) return isInside && node.text === name && !isProperty(node);
    const isNext = isInside || (ts.isFunctionLike(node) && node !== block.parent);
    return ts.forEachChild(node, (child) => uses(child, isNext) || undefined) ?? false;
  }
}

/** Whether it names a property, as in `value.name` and `{ name: value }`. */
function isProperty(node: ts.Identifier): boolean {
  const { parent } = node;
  return (ts.isPropertyAccessExpression(parent) || ts.isPropertyAssignment(parent)) && parent.name === node;
}

/** Names whose collections the file changes: `waiting` in `this.#waiting.set(...)` and in `waiting.push(...)`. */
function changedNames(source: ts.SourceFile): ReadonlySet<string> {
  const names = new Set<string>();
  visit(source);
  return names;

  function visit(node: ts.Node): void {
    if (ts.isPropertyAccessExpression(node) && CHANGES.has(node.name.text)) {
      const { expression } = node;
      names.add(ts.isPropertyAccessExpression(expression) ? expression.name.text : expression.getText());
    }
    ts.forEachChild(node, visit);
  }
}

function namesOf(name: ts.BindingName): readonly string[] {
  if (ts.isIdentifier(name)) return [name.text];
  return name.elements.flatMap((element) => (ts.isBindingElement(element) ? namesOf(element.name) : []));
}
