import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, test } from "vitest";
import { root } from "./built.ts";
import { pages, pageText } from "./markdown.ts";

interface Link {
  readonly page: string;
  readonly target: string;
}

const links: readonly Link[] = pages().flatMap((page) =>
  [...withoutCode(pageText(page)).matchAll(/\]\(([^)\s]+)\)/g)].map((match) => ({ page, target: match[1] ?? "" })),
);
const own = links.filter(({ target }) => !/^[a-z]+:/.test(target));

test("every link to a file of ours leads somewhere", () => {
  expect(own.length).toBeGreaterThan(20);
  expect(own.filter((link) => !existsSync(fileOf(link)))).toEqual([]);
});

test("every link to a heading leads to one", () => {
  const lost = own.filter((link) => {
    const anchor = link.target.split("#")[1];
    return anchor !== undefined && existsSync(fileOf(link)) && !anchorsOf(fileOf(link)).includes(anchor);
  });
  expect(lost).toEqual([]);
});

test("a page of the package links only to files of the package", () => {
  const { files } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as { files: readonly string[] };
  const isPacked = (path: string) => files.some((file) => path === file || path.startsWith(`${file}/`));
  const packed = own.filter(({ page }) => isPacked(page));
  expect(packed.length).toBeGreaterThan(20);
  expect(packed.filter((link) => !isPacked(relative(root, fileOf(link))))).toEqual([]);
});

test("files and commands that the pages name in code exist", () => {
  const { scripts } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as { scripts: Record<string, string> };
  const lost = pages().flatMap((page) => {
    const text = pageText(page);
    const paths = [...text.matchAll(/`((?:bench|docs|examples|src|tests)\/[\w./-]+)`/g)].map((match) => match[1] ?? "");
    const runs = [...text.matchAll(/npm run ([\w:]+)/g)].map((match) => match[1] ?? "");
    return [
      ...paths.filter((path) => !existsSync(join(root, path))),
      ...runs.filter((name) => scripts[name] === undefined),
    ].map((name) => `${page}: ${name}`);
  });
  expect(lost).toEqual([]);
});

function fileOf({ page, target }: Link): string {
  const path = target.split("#")[0] ?? "";
  return path === "" ? join(root, page) : join(root, dirname(page), path);
}

/** As GitHub makes them of headings. */
function anchorsOf(file: string): readonly string[] {
  if (!file.endsWith(".md")) return [];
  const headings = [...withoutCode(readFileSync(file, "utf8")).matchAll(/^#+ (.+)$/gm)];
  return headings.map((match) =>
    (match[1] ?? "")
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

function withoutCode(text: string): string {
  return text.replace(/^```[\s\S]*?^```/gm, "");
}
