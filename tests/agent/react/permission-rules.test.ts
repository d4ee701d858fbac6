import { posix, win32 } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { covers, denial } from "../../../src/agent/react/permission-rules.ts";

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
    ["*@example.org", "eve@evil.com, x@example.org"],
    ["*@example.org", "eve@evil.com;x@example.org"],
    ["*@example.org", "eve@evil.com@example.org"],
    ["*@example.org", "Eve<eve@evil.com>x@example.org"],
    ["*@example.org", "eve@evil.com\uff0cx@example.org"],
    ["npm *", "npm test; rm"],
    ["npm **", "npm test&&rm"],
    ["a*", "a|b"],
    ["a*", "a$HOME"],
    ["a*", "a`b`"],
    ["a*", "a\nb"],
    ["a*", "a'b"],
    ["a*", 'a"b'],
    ["a?b", "a b"],
    ["**", "file:///etc/passwd"],
    ["*/a", "data:/a"],
    ["src/**", "src/..;/k"],
    ["src/**", "src/%252e%252e/k"],
    ["src/**", "src/%c0%ae%c0%ae/k"],
    ["src/**/k", "src/%zz/k"],
    ["src/*", "src/a\u2100b"],
  ])("%s does not cover %j", (glob, value) => expect(path(glob, value)).toBe(false));
});

const denied = (glob: string, value: unknown, tool = "write") =>
  denial({ tool, verdict: "deny", pattern: { path: glob } }, { name: tool, arguments: { path: value } as never });

describe("a glob that denies", () => {
  test.each([
    ["secrets/**", "secrets/b"],
    ["secrets/**", "secrets/../secrets/b"],
    ["secrets/**", "./secrets/b"],
    ["secrets/**", "x/../secrets/b"],
    ["secrets/**", "secrets\\b"],
    ["secrets/**", "secrets%2fb"],
    ["secrets/**", "%73ecrets/b"],
    ["secrets/**", "secrets/x\u200b"],
    ["secrets/**", "sec\u00adrets/x"],
    ["secrets/**", "Secrets/b"],
    ["Secrets/**", "secrets/b"],
    ["secrets/**", "secrets//b"],
    ["secrets/*", "secrets//b"],
    ["secrets/**", "secrets./b"],
    ["secrets/**", " secrets /b"],
    ["secrets/**", "\uff53ecrets/b"],
    ["secrets/b", "secrets/./b"],
    ["./secrets/**", "secrets/b"],
    ["secrets/**", ["notes/a", "secrets/b"]],
    ["/repo/secrets/**", "/repo/x/../secrets/b"],
    ["*@evil.com", "a@ok.com, eve@evil.com"],
    ["https://*.evil.com/**", "https://u:p@a.evil.com:443/x"],
    ["https://evil.com/**", "https:\\\\EVIL.com/x"],
    ["https://evil.com/**", "https://evil.com.:8443/x"],
  ])("%s denies %j", (glob, value) => expect(denied(glob, value)).toBe("yes"));

  test.each([
    ["secrets/**", "../secrets/b"],
    ["secrets/**", "../repo/secrets/b"],
    ["secrets/**", "/repo/secrets/b"],
    ["secrets/**", "~/secrets/b"],
    ["secrets/**", "C:\\repo\\secrets\\b"],
    ["secrets/**", "C:secrets\\b"],
    ["secrets/**", "file:///repo/secrets/b"],
    ["secrets/**", "notes/a,secrets/b"],
    ["secrets/**", "--file=secrets/b"],
    ["secrets/**", "notes/a secrets /b"],
    ["secrets/*", "notes/a secrets /b c"],
    ["secrets/**", "'secrets/b'"],
    ["secrets/**", "s%c0%aecrets/b"],
    ["secrets/**", "secret~1/b"],
    ["secrets/**", "secrets::$INDEX_ALLOCATION/b"],
    ["secrets/**", { name: "secrets/b" }],
    ["/repo/secrets/**", "secrets/b"],
    ["https://evil.com/**", "//evil.com/x"],
  ])("%s leaves %j to a person", (glob, value) => expect(denied(glob, value)).toBe("maybe"));

  test.each([
    ["secrets/**", "notes/a"],
    ["secrets/**", "./notes/a"],
    ["secrets/**", "secrets2/a"],
    ["secrets/**", "/tmp/a"],
    ["secrets/**", "50% off, and more"],
    ["secrets/*", "secrets/a/b"],
    ["*@evil.com", "a@ok.com, b@ok.com"],
    ["/etc/**", "/tmp/a"],
    ["https://evil.com/**", "https://good.com/x"],
    ["secrets/**", null],
    ["secrets/**", []],
  ])("%s says nothing of %j", (glob, value) => expect(denied(glob, value)).toBe("no"));

  test("of a command takes what is put before or behind it, or asks", () => {
    expect(denied("rm *", "rm -rf /a/b", "shell")).toBe("yes");
    expect(denied("rm *", "RM  -rf x; ls", "shell")).toBe("yes");
    expect(denied("rm *", "ls && rm -rf x", "shell")).toBe("maybe");
    expect(denied("rm *", "ls -l", "shell")).toBe("no");
  });
});

test("no other spelling of a denied path is free to run", () => {
  const name = fc.stringMatching(/^[a-z]{1,4}$/);
  const spellings: readonly ((path: string) => string)[] = [
    (path) => `./${path}`,
    (path) => `x/../${path}`,
    (path) => path.replace("/", "/../secrets/"),
    (path) => path.replaceAll("/", "\\"),
    (path) => path.replaceAll("/", "//"),
    (path) => path.replace("/", "%2f"),
    (path) => path.replace("e", "%65"),
    (path) => encodeURIComponent(encodeURIComponent(path)),
    (path) => path.toUpperCase(),
    (path) => `${path}\u200b`,
    (path) => path.replace("c", "c\u2060"),
    (path) => path.replace("/", " /"),
    (path) => path.replace("/", "\uff0f"),
    (path) => path.replace("s", "\u017f"),
    (path) => `${path} `,
    (path) => `/home/${path}`,
    (path) => `file:///repo/${path}`,
    (path) => `notes/a ${path}`,
  ];
  const globs = fc.constantFrom("secrets/**", "**/secrets/**", "s*/**", "./secrets/**", "SECRETS/**");
  fc.assert(
    fc.property(name, fc.subarray([...spellings], { minLength: 1, maxLength: 3 }), globs, (file, changes, glob) => {
      const value = changes.reduce((path, change) => change(path), `secrets/${file}`);
      expect([value, denied(glob, value)]).not.toEqual([value, "no"]);
    }),
  );
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
