import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, chromium } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const PLACES = [
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
];

/** A Chromium of this machine; on Debian as root its own package is installed when there is none. Nothing else is ever downloaded. */
export function findBrowser(): string | undefined {
  const { HEDDLE_CHROMIUM: given } = process.env;
  if (given !== undefined) return existsSync(given) ? given : undefined;
  return installed() ?? (install() ? installed() : undefined);
}

function installed(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const candidates = [...NAMES.flatMap((name) => folders.map((folder) => join(folder, name))), ...PLACES];
  return candidates.find((path) => existsSync(path));
}

function install(): boolean {
  const isDebianRoot = existsSync("/etc/debian_version") && process.getuid?.() === 0;
  if (!isDebianRoot) return false;
  const apt = (...args: string[]) => spawnSync("apt-get", args, { stdio: "ignore", timeout: 300_000 }).status === 0;
  apt("update", "-qq");
  return apt("install", "-y", "--no-install-recommends", "chromium", "fonts-dejavu-core");
}

export const NO_BROWSER =
  "No Chromium was found and none could be installed: install chromium, or name one in HEDDLE_CHROMIUM.";

export function launch(executablePath: string): Promise<Browser> {
  return chromium.launch({
    executablePath,
    // Root has no sandbox in a container, and /dev/shm may be tiny there.
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars"],
  });
}
