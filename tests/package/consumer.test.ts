import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inScratch, mustBeBuilt, root, runScript } from "../docs/built.ts";

const run = promisify(execFile);
const home = mkdtempSync(join(tmpdir(), "heddle-consumer-"));

/** What each way to open something ends with, as seen by somebody who installed heddle and nothing else. */
const SCRIPT = `
import { loadExactCounter, openStore } from "heddle";
const attempts = {
  memory: () => openStore("memory:"),
  sqlite: () => openStore("sqlite:./threads.db"),
  postgres: () => openStore("postgres://somebody@127.0.0.1/nothing"),
  nonsense: () => openStore("mysql://somebody:secret@127.0.0.1/nothing"),
  tokens: () => loadExactCounter("openai:gpt-5"),
};
const ends = {};
for (const [name, attempt] of Object.entries(attempts)) {
  ends[name] = await attempt().then(
    async (opened) => ({ rev: (await opened.append("thread_1", {})).rev, closed: (await opened.close()) === undefined }),
    ({ code, message }) => ({ code, message }),
  );
}
console.log(JSON.stringify(ends));
`;

beforeAll(() => {
  mustBeBuilt();
  for (const name of ["package.json", "dist"])
    cpSync(join(root, name), join(home, "node_modules/heddle", name), { recursive: true });
  writeFileSync(join(home, "consumer.mjs"), SCRIPT);
});

afterAll(() => rmSync(home, { recursive: true, force: true }));

async function consume(...flags: string[]): Promise<Record<string, unknown>> {
  const { stdout } = await run(process.execPath, [...flags, "consumer.mjs"], { cwd: home });
  return JSON.parse(stdout) as Record<string, unknown>;
}

describe("the package, installed without its optional peers", () => {
  test("opens what needs none, and names the command for what is missing", async () => {
    expect(await consume()).toMatchObject({
      memory: { rev: 1, closed: true },
      sqlite: { rev: expect.any(Number), closed: true },
      postgres: { code: "store_driver_missing", message: expect.stringContaining("npm i postgres") },
      nonsense: { code: "store_url_invalid", message: expect.not.stringContaining("secret") },
      tokens: { code: "tokenizer_missing", message: expect.stringContaining("npm install gpt-tokenizer") },
    });
  });

  test("says what to install where Node has no SQLite", async () => {
    const { sqlite } = await consume("--no-experimental-sqlite");
    expect(sqlite).toMatchObject({
      code: "store_driver_missing",
      message: expect.stringContaining("npm install better-sqlite3@13"),
    });
  });
});

test.each(["true", "false"])(
  "the types compile with skipLibCheck false and exactOptionalPropertyTypes %s",
  async (exact) => {
    writeFileSync(join(home, "types.ts"), 'export * from "heddle";\nexport * as providers from "heddle/providers";\n');
    const flags =
      "--ignoreConfig --singleThreaded --noEmit --strict --module nodenext --target es2022 --lib esnext,dom --skipLibCheck false";
    const options = [...flags.split(" "), "--types", "", "--exactOptionalPropertyTypes", exact];
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const { stdout } = await run(process.execPath, [tsc, "types.ts", ...options], { cwd: home }).catch(
      (error) => error,
    );
    expect(stdout).toBe("");
  },
);

test("a bundle for a browser has nothing of Node and of optional packages, and says what needs Node", async () => {
  const { warnings, outputFiles } = await build({
    absWorkingDir: home,
    stdin: { contents: SCRIPT, resolveDir: home },
    bundle: true,
    format: "esm",
    platform: "browser",
    write: false,
    logLevel: "silent",
  });
  expect(warnings.filter(({ text }) => /resolve/.test(text))).toEqual([]);
  writeFileSync(join(home, "bundle.mjs"), outputFiles[0]?.text ?? "");
  const { stdout } = await run(process.execPath, ["bundle.mjs"], { cwd: home });
  expect(JSON.parse(stdout)).toMatchObject({
    memory: { rev: 1, closed: true },
    sqlite: { code: "store_driver_missing", message: expect.stringContaining("needs Node") },
    postgres: { code: "store_driver_missing", message: expect.stringContaining("needs Node") },
    tokens: { code: "tokenizer_missing", message: expect.stringContaining("npm install gpt-tokenizer") },
  });
});

test("the sources open a store by URL without dist", async () => {
  await inScratch(async (folder) => {
    cpSync(join(root, "src"), join(folder, "src"), { recursive: true });
    for (const name of ["uuid", "@noble/hashes"]) {
      mkdirSync(dirname(join(folder, "node_modules", name)), { recursive: true });
      symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name));
    }
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    const script = `import { openStore } from "./src/index.ts";
await (await openStore("sqlite:./threads.db")).close();
console.log("closed");`;
    writeFileSync(join(folder, "open.ts"), script);
    expect(await runScript("open.ts", folder)).toMatchObject({ stdout: "closed\n", stderr: "" });
  });
});
