import { globSync, readFileSync } from "node:fs";
import { ts } from "@ts-morph/common";
import { root } from "./root.ts";

const ASSIGNS = new Set([ts.SyntaxKind.EqualsToken, ts.SyntaxKind.QuestionQuestionEqualsToken]);

/**
 * Functions in src that V8 makes in its old memory, or that something there holds, as `path:line text`. All that they use is kept
 * until a full collection, also when it is garbage at once (docs/decisions/0027). They are getters of object literals,
 * generators and classes that are made inside a function, and functions that are assigned to a property.
 */
export function oldFunctions(folders: readonly string[]): readonly string[] {
  return folders.flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: root }).sort().flatMap(placesOf));
}

function placesOf(found: string): readonly string[] {
  const path = found.replaceAll("\\", "/");
  const source = ts.createSourceFile(path, readFileSync(root + path, "utf8"), ts.ScriptTarget.Latest, true);
  const places: string[] = [];
  visit(source);
  return places;

  function visit(node: ts.Node): void {
    if (isOld(node)) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart());
      places.push(`${path}:${line + 1} ${node.getText().split("\n")[0]?.trim()}`);
    }
    ts.forEachChild(node, visit);
  }
}

function isOld(node: ts.Node): boolean {
  if (ts.isBinaryExpression(node)) return isAssignedFunction(node);
  if (ts.isGetAccessor(node)) return ts.isObjectLiteralExpression(node.parent) && isInFunction(node);
  if (ts.isClassLike(node)) return isInFunction(node);
  if (ts.isMethodDeclaration(node) && ts.isClassLike(node.parent)) return false;
  const isGenerator = "asteriskToken" in node && node.asteriskToken !== undefined && ts.isFunctionLike(node);
  return isGenerator && isInFunction(node);
}

function isAssignedFunction({ left, operatorToken, right }: ts.BinaryExpression): boolean {
  const isFunction = ts.isArrowFunction(right) || ts.isFunctionExpression(right);
  const isProperty = ts.isPropertyAccessExpression(left) || ts.isElementAccessExpression(left);
  return isFunction && isProperty && ASSIGNS.has(operatorToken.kind);
}

function isInFunction({ parent }: ts.Node): boolean {
  if (parent === undefined) return false;
  return ts.isFunctionLike(parent) || ts.isPropertyDeclaration(parent) || isInFunction(parent);
}
