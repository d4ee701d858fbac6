import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { findBrowser } from "../support/find-browser.ts";

describe.skipIf(process.platform === "win32")("The browser of the tests", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "heddle-find-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const command = (name: string, script: string): string => {
    const path = join(folder, name);
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
    return path;
  };
  const find = (isDebianRoot: boolean, env: NodeJS.ProcessEnv = {}) =>
    findBrowser({ env: { PATH: folder, ...env }, places: [], isDebianRoot });
  /** What a real apt-get does for us: a command in the PATH. */
  const INSTALLS = `case "$*" in *" chromium-headless-shell "*) printf '#!/bin/sh\\necho Chromium 1.2\\n' > "\${0%/*}/chromium-headless-shell"; /bin/chmod +x "\${0%/*}/chromium-headless-shell";; esac`;

  test("is the one that is there, and nothing is installed", () => {
    const path = command("chromium", "echo Chromium 9");
    command("apt-get", 'echo > "$0.called"');
    expect(find(true)).toEqual({ path, version: "Chromium 9" });
    expect(existsSync(join(folder, "apt-get.called"))).toBe(false);
  });

  test("is installed where that needs no permission", () => {
    command("apt-get", INSTALLS);
    expect(find(true)).toEqual({ path: join(folder, "chromium-headless-shell"), version: "Chromium 1.2" });
  });

  test("is not installed without root, and the message says how to install it", () => {
    command("apt-get", INSTALLS);
    expect(find(false).why).toBe(
      "No Chromium was found. Install it (Debian: apt-get install chromium-headless-shell), or name one in HEDDLE_CHROMIUM.",
    );
  });

  test("is missed with the words of an apt-get that failed, or that is not there", () => {
    command("apt-get", "echo 'W: slow' >&2; echo 'E: Unable to locate package chromium' >&2; exit 100");
    expect(find(true).why).toContain("apt-get could not install it (E: Unable to locate package chromium). Install it");
    rmSync(join(folder, "apt-get"));
    expect(find(true).why).toContain("ENOENT");
  });

  test("that is named and missing, or that does not run, is reported by name", () => {
    expect(find(true, { HEDDLE_CHROMIUM: "/nowhere/chrome" }).why).toBe(
      "HEDDLE_CHROMIUM names /nowhere/chrome, which is not there.",
    );
    const path = command("chromium-browser", "echo 'Get it from the snap store.' >&2; exit 1");
    expect(find(true).why).toContain(`${path} does not run (Get it from the snap store.).`);
  });
});
