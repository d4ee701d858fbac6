import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const CLI = fileURLToPath(new URL("../../src/cli.ts", import.meta.url));

/** As far as a program can see, this Node is another one. */
const saying = (node: string) =>
  `data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"${node}"}})`;

const SRC = new URL("../../src/", import.meta.url);

const version = (node: string) =>
  promisify(execFile)(process.execPath, ["--import", saying(node), CLI, "--version"]).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, stdout, stderr }),
  );

test.each(["20.20.2", "22.12.0"])("on Node %s it says which one it needs, and does nothing", async (node) => {
  const { code, stdout, stderr } = await version(node);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(/^heddle needs Node 22\.13 or later, .*\n$/);
});

test.each(["index", "sqlite", "postgres", "ai-sdk", "providers", "studio", "testing"])(
  "importing %s on Node 20 fails with one line that names the Node it needs",
  async (entry) => {
    const script = `import(${JSON.stringify(new URL(`${entry}.ts`, SRC).href)}).catch((error) => console.log(error.code, error.stack))`;
    const { stdout } = await promisify(execFile)(process.execPath, ["--import", saying("20.20.2"), "-e", script]);
    expect(stdout).toBe("node_too_old heddle needs Node 22.13 or later, but this is v20.20.2. Install a newer Node.\n");
  },
);

test.each(["22.13.0", "24.0.0"])("on Node %s it works", async (node) => {
  expect(await version(node)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+/), stderr: "" });
});
