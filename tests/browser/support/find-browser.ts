import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const PLACES = [
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
];
const ADVICE = "Install it (Debian: apt-get install chromium), or name one in HEDDLE_CHROMIUM.";

/** A browser that runs, or why there is none and what to do. */
export type Found =
  | { readonly path: string; readonly version: string; readonly why?: undefined }
  | { readonly path?: undefined; readonly why: string };

interface Machine {
  readonly env?: NodeJS.ProcessEnv;
  /** Where browsers are that no PATH tells of. */
  readonly places?: readonly string[];
  /** Whether packages can be installed here without asking anybody. */
  readonly isDebianRoot?: boolean;
  readonly say?: (text: string) => void;
}

/** A Chromium of this machine; on Debian as root its own package is installed when there is none. Nothing else is ever downloaded. */
export function findBrowser({
  env = process.env,
  places = PLACES,
  isDebianRoot = existsSync("/etc/debian_version") && process.getuid?.() === 0,
  say = () => undefined,
}: Machine = {}): Found {
  const given = env["HEDDLE_CHROMIUM"];
  if (given !== undefined && given !== "") {
    return existsSync(given) ? running(given, env) : { why: `HEDDLE_CHROMIUM names ${given}, which is not there.` };
  }
  const known = installed(env, places);
  if (known !== undefined) return running(known, env);
  if (!isDebianRoot) return { why: `No Chromium was found. ${ADVICE}` };
  say("No Chromium was found: apt-get installs it, which takes a minute or two.");
  const refusal = install(env);
  const fresh = installed(env, places);
  if (fresh !== undefined) return running(fresh, env);
  return { why: `No Chromium was found, and apt-get could not install it (${refusal ?? "it left none"}). ${ADVICE}` };
}

function installed(env: NodeJS.ProcessEnv, places: readonly string[]): string | undefined {
  const folders = (env["PATH"] ?? "").split(delimiter);
  const candidates = [...NAMES.flatMap((name) => folders.map((folder) => join(folder, name))), ...places];
  return candidates.find((path) => existsSync(path));
}

/** A package may leave a command that only says where to get the browser. */
function running(path: string, env: NodeJS.ProcessEnv): Found {
  if (process.platform === "win32") return { path, version: "Chromium" }; // there the question opens a window
  const { status, stdout, stderr, error } = spawnSync(path, ["--version"], { env, encoding: "utf8", timeout: 60_000 });
  if (status === 0) return { path, version: stdout.trim() };
  const said = error?.message ?? (lastLine(stderr) || `exit ${status}`);
  return { why: `${path} does not run (${said}). ${ADVICE}` };
}

/** Answers what apt-get complained of. */
function install(env: NodeJS.ProcessEnv): string | undefined {
  const apt = (...args: string[]) =>
    spawnSync("apt-get", args, {
      env: { ...env, DEBIAN_FRONTEND: "noninteractive" },
      encoding: "utf8",
      timeout: 300_000,
    });
  apt("update", "-qq");
  const { status, stderr, error } = apt(
    ...["-o", "DPkg::Lock::Timeout=120", "install", "-y", "-qq", "--no-install-recommends"],
    ...["chromium", "fonts-dejavu-core"],
  );
  return status === 0 ? undefined : (error?.message ?? (lastLine(stderr) || `exit ${status}`));
}

const lastLine = (text: string) => text.trim().split("\n").at(-1) ?? "";
