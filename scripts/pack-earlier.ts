// Builds the modules of an earlier commit from the repository's own history, for tests that compare its runtime with today's.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "./root.ts";

/** The last commit before "runtime: a live thread is a value and a loop". */
export const EARLIER_COMMIT = "e8c3cbcae1c51f60c8f989bfe193717ecfea627d";

const cache = join(root, "node_modules", ".cache", "heddle-earlier");

/** The `dist` of the earlier commit. It is built once and kept under `node_modules/.cache`. */
export function packEarlier(): string {
  const kept = join(cache, EARLIER_COMMIT);
  if (existsSync(kept)) return kept;
  checkHistory();
  mkdirSync(cache, { recursive: true });
  const copy = mkdtempSync(join(cache, "dist-"));
  const folder = mkdtempSync(join(tmpdir(), "heddle-earlier-")); // Node runs no TypeScript below node_modules
  try {
    const paths = ["src", "scripts", "package.json"];
    const archive = git(["archive", "--format=tar", EARLIER_COMMIT, ...paths]);
    execFileSync("tar", ["-x", "-C", folder], { input: archive });
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "junction");
    const build = 'import("./scripts/build-package.ts").then(({ buildModules }) => buildModules())';
    execFileSync(process.execPath, ["--eval", build], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
    cpSync(join(folder, "dist"), copy, { recursive: true });
    renameUnlessBuilt(copy, kept);
  } finally {
    for (const each of [folder, copy]) rmSync(each, { recursive: true, force: true });
  }
  return kept;
}

/** Another process may have built the same commit meanwhile. Its folder is as good. */
function renameUnlessBuilt(copy: string, kept: string): void {
  try {
    renameSync(copy, kept);
  } catch (error) {
    if (!existsSync(kept)) throw error;
  }
}

function checkHistory(): void {
  try {
    git(["cat-file", "-e", `${EARLIER_COMMIT}^{commit}`]);
  } catch (cause) {
    throw new Error(
      `The earlier runtime cannot be built, because this checkout has no commit ${EARLIER_COMMIT}. ` +
        "In a shallow clone run `git fetch --unshallow`. A copy without .git cannot run this test.",
      { cause },
    );
  }
}

function git(args: readonly string[]): Buffer {
  return execFileSync("git", args, { cwd: root, maxBuffer: 2 ** 28, stdio: ["ignore", "pipe", "ignore"] });
}
