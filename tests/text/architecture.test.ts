import { existsSync, globSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const page = existsSync("ARCHITECTURE.md") ? readFileSync("ARCHITECTURE.md", "utf8") : "";
const laws = table("## Laws").map(([law = "", proof = ""]) => ({ law, proof: quoted(proof) }));
const ideas = table("## Ideas and their code").map(([idea = "", code = "", proof = ""]) => ({ idea, code, proof }));

describe("ARCHITECTURE.md", () => {
  test("lists laws, and the code of every idea", () => {
    expect(laws.length, "rows under `## Laws`").toBeGreaterThan(0);
    expect(ideas.length, "rows under `## Ideas and their code`").toBeGreaterThan(0);
  });

  test("every law has a test that exists", () => {
    expect(laws.filter(({ proof }) => !holdsTest(proof))).toEqual([]);
  });

  test("every file in tests/laws is in the table of laws", () => {
    const named = new Set(laws.map(({ proof }) => proof));
    expect(globSync("tests/laws/**/*.test.ts").filter((path) => !named.has(path))).toEqual([]);
  });

  test("every idea has code and a test that exist, or is marked as later", () => {
    const lost = ideas.filter(({ code, proof }) => !(isCode(code) && (proof === "later" || holdsTest(quoted(proof)))));
    expect(lost).toEqual([]);
  });
});

/** The cells of the first markdown table under a heading, without its head. */
function table(heading: string): string[][] {
  const section = page.split(/^(?=## )/m).find((part) => part.split("\n")[0]?.trim() === heading) ?? "";
  const rows = section.split("\n").filter((line) => line.trim().startsWith("|"));
  return rows.slice(2).map((line) => {
    const cells = line.trim().replace(/^\||\|$/g, "");
    return cells.split(/(?<!\\)\|/).map((cell) => cell.trim());
  });
}

/** The path in `backticks`, or nothing. */
function quoted(cell: string): string {
  return /^`([^`]+)`$/.exec(cell)?.[1] ?? "";
}

function isCode(cell: string): boolean {
  const path = quoted(cell);
  return cell === "later" || (path.startsWith("src/") && existsSync(path));
}

function holdsTest(path: string): boolean {
  return /\.test(-d)?\.ts$/.test(path) && existsSync(path) && /\b(test|it)\b[\w.]*\(/.test(readFileSync(path, "utf8"));
}
