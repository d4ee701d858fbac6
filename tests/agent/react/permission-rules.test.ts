import { posix, win32 } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { covers } from "../../../src/agent/react/permission-rules.ts";

const covered = (pattern: Record<string, string>, given: unknown, tool = "write"): boolean =>
  covers({ tool, verdict: "allow", pattern }, { name: tool, arguments: given as never });
const path = (glob: string, value: unknown): boolean => covered({ path: glob }, { path: value });

describe("a glob covers a whole value", () => {
  test.each([
    ["src/a.ts", "src/a.ts"],
    ["src/*", "src/a.ts"],
    ["src/**", "src/a/b/c.ts"],
    ["src/**", "src/.hidden"],
    ["src/**", "src/a..b"],
    ["src/**/x.ts", "src/x.ts"],
    ["src/**/x.ts", "src/a/b/x.ts"],
    ["**/*.ts", "a/b.ts"],
    ["a?c", "abc"],
    ["/tmp/**", "/tmp/a"],
    ["https://*.example.com/**", "https://a.b.example.com/x?y=1#z"],
    ["1??", 100],
    ["true", true],
    ["größe/*", "größe/😀"],
    ["src/**", ["src/a", "src/b"]],
    ["*", ""],
  ])("%s covers %j", (glob, value) => expect(path(glob, value)).toBe(true));

  test.each([
    ["src/*", "src/a/b.ts"],
    ["src/*", "src/a\\b"],
    ["src/**", "src"],
    ["src/**", "src2/a"],
    ["src/**", "my/src/a"],
    ["src/**/x.ts", "src/ax.ts"],
    ["src/**", "src/../etc/passwd"],
    ["src/**", "src/a/.."],
    ["src/**", "src/..\\etc"],
    ["src/**", "src/.. /etc"],
    ["src/**", "src/%2e%2E/etc"],
    ["src/**", "src/..%2f/a"],
    ["src/**", "src/\uff0e\uff0e\uff0fetc"],
    ["src/**", "src/\u2025/etc"],
    ["src/**", "src/a\u202ets"],
    ["src/**", "src/a\nb"],
    ["src/**", "src/a\0b"],
    ["src/*", "src/a\u2215b"],
    ["**", "/etc/passwd"],
    ["**", "~/.ssh/id"],
    ["**", "C:\\x"],
    ["Src/**", "src/a"],
    ["é", "e\u0301"],
    ["https://*.example.com/**", "https://evil.com#.example.com/x"],
    ["https://*.example.com/**", "https://evil.com?.example.com/x"],
    ["https://*.example.com/**", "https://a:b@evil.com/.example.com/x"],
    ["https://**.example.com/**", "https://evil.com/.example.com/x"],
    ["src/**", []],
    ["src/**", ["src/a", "etc"]],
    ["src/**", ["src/a", ["src/b", "etc"]]],
    ["src/**", { toString: "src/a" }],
    ["src/**", null],
    ["null", null],
  ])("%s does not cover %j", (glob, value) => expect(path(glob, value)).toBe(false));
});

describe("the path of an argument", () => {
  test("leads through objects and lists, and never to what is not there", () => {
    expect(covered({ "file.path": "src/*" }, { file: { path: "src/a" } })).toBe(true);
    expect(covered({ "files.path": "src/*" }, { files: [{ path: "src/a" }, { path: "src/b" }] })).toBe(true);
    expect(covered({ "files.path": "src/*" }, { files: [{ path: "src/a" }, { name: "b" }] })).toBe(false);
    expect(covered({ "file.path": "src/*" }, { "file.path": "src/a" })).toBe(false);
    expect(covered({ path: "**" }, {})).toBe(false);
    expect(covered({ path: "**" }, "src/a")).toBe(false);
    expect(covered({ constructor: "**", toString: "**" }, {})).toBe(false);
    expect(covered({ path: "src/*", mode: "r" }, { path: "src/a" })).toBe(false);
    expect(covered({ path: "src/*", mode: "r" }, { path: "src/a", mode: "r", more: 1 })).toBe(true);
  });

  test("that is named as a command takes the text only exactly, and no list", () => {
    for (const name of ["command", "cmd", "shellCommand", "bash_script", "code", "sql"]) {
      expect(covered({ [name]: "npm test" }, { [name]: "npm test" })).toBe(true);
      for (const value of ["npm test; rm -rf ~", "npm test && x", "npm  test", "npm *", ["npm test"]]) {
        expect(covered({ [name]: "npm test" }, { [name]: value })).toBe(false);
      }
      expect(covered({ [name]: "npm *" }, { [name]: "npm test" })).toBe(false);
      expect(covered({ [`run.${name}`]: "npm *" }, { run: { [name]: "npm test" } })).toBe(false);
    }
    expect(covered({ input: "ls *" }, { input: "ls ; rm" }, "bash")).toBe(false);
    expect(covered({ description: "a *" }, { description: "a b" })).toBe(true);
  });

  test("of another tool is not covered, and all calls of the tool without a pattern", () => {
    const rule = { tool: "write", verdict: "allow" } as const;
    expect(covers(rule, { name: "write", arguments: "anything" })).toBe(true);
    expect(covers(rule, { name: "Write", arguments: {} })).toBe(false);
  });
});

const part = fc.constantFrom(
  "a",
  "b.ts",
  "..",
  ".",
  "...",
  ".. ",
  "",
  "src",
  "%2e%2e",
  "\uff0e\uff0e",
  "x\u202e",
  "é",
  "~",
);
const slash = fc.constantFrom("/", "/", "\\", "//", "\uff0f", "%2f");
const hostile = fc
  .array(fc.tuple(part, slash), { minLength: 1, maxLength: 6 })
  .map((parts) => parts.flat().join(""))
  .chain((text) => fc.constantFrom(text, `src/${text}`, `src/a/${text}`));

test("a value that a folder covers stays in the folder, for every system", () => {
  fc.assert(
    fc.property(hostile, fc.constantFrom("src/**", "src/*", "src/**/*", "src/*/b.ts"), (value, glob) => {
      if (!path(glob, value)) return;
      for (const text of [value, value.normalize("NFKC"), decodeURIComponent(value)]) {
        expect(posix.normalize(text)).toMatch(/^src\//);
        expect(posix.normalize(text)).not.toContain("..\\");
        expect(win32.normalize(text)).toMatch(/^src\\/);
      }
    }),
  );
});

/** The glob as a regular expression: obvious, and slow for some texts. */
function naive(glob: string): RegExp {
  const source = glob.replace(/(?<=^|\/)\*\*\/|\*\*|[*?]|[^*?]/g, (piece) => {
    if (piece === "**/") return "(?:[^\\p{C}]*/)?";
    if (piece === "**") return "[^\\p{C}]*";
    if (piece === "*") return "[^/\\\\\\p{C}]*";
    return piece === "?" ? "[^/\\\\\\p{C}]" : piece.replace(/[\\^$.|+()[\]{}/]/g, "\\$&");
  });
  return new RegExp(`^${source}$`, "u");
}

test("a glob covers exactly what the expression of it matches, of texts that lead nowhere else", () => {
  const text = fc.array(fc.constantFrom("a", "b", "/", "x.ts"), { maxLength: 8 }).map((parts) => parts.join(""));
  const glob = fc.array(fc.constantFrom("a", "b", "/", "**/", "**", "*", "?", "x.ts"), { maxLength: 6 });
  fc.assert(
    fc.property(
      text,
      glob.map((parts) => parts.join("").replace(/\*{3,}/g, "**")),
      (value, glob) => {
        const isRelative = !value.startsWith("/") || !/^[*?]/.test(glob);
        expect(path(glob, value)).toBe(isRelative && naive(glob).test(value));
      },
    ),
  );
});

test("no argument of a call decides for another one: each path is looked at", () => {
  const json = fc.jsonValue() as fc.Arbitrary<never>;
  fc.assert(
    fc.property(json, json, (path, other) => {
      const given = { path, other };
      const isText = typeof path === "string" && /^src\/[a-z]+$/.test(path);
      if (!isText) expect(covered({ path: "src/[a-z]" }, given)).toBe(false);
      expect(covered({ path: "**", missing: "**" }, given)).toBe(false);
    }),
  );
});
