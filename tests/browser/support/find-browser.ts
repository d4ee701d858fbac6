import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

interface Kind {
  readonly title: string;
  readonly names: readonly string[];
  /** Where it is installed outside of every PATH. */
  readonly places: readonly string[];
  readonly variable: string;
  /** Of Debian. */
  readonly packages: readonly string[];
}

const CHROMIUM: Kind = {
  title: "Chromium",
  // The first has no window to draw, and takes two thirds of the CPU time.
  names: ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"],
  places: [
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
  ],
  variable: "HEDDLE_CHROMIUM",
  packages: ["chromium-headless-shell", "fonts-dejavu-core"],
};

export const FIREFOX: Kind = {
  title: "Firefox",
  names: ["firefox", "firefox-esr"],
  places: ["/Applications/Firefox.app/Contents/MacOS/firefox", "C:\\Program Files\\Mozilla Firefox\\firefox.exe"],
  variable: "HEDDLE_FIREFOX",
  packages: ["firefox-esr"],
};

/** A browser that runs, or why there is none and what to do. */
export type Found =
  | { readonly path: string; readonly version: string; readonly why?: undefined }
  | { readonly path?: undefined; readonly version?: undefined; readonly why: string };

interface Machine {
  /** Default Chromium. */
  readonly kind?: Kind;
  readonly env?: NodeJS.ProcessEnv;
  /** Where browsers are that no PATH tells of. */
  readonly places?: readonly string[];
  /** Whether packages can be installed here without asking anybody. */
  readonly isDebianRoot?: boolean;
  readonly say?: (text: string) => void;
}

/** A browser of this machine; on Debian as root its own package is installed when there is none. Nothing else is downloaded. */
export function findBrowser({
  kind = CHROMIUM,
  env = process.env,
  places = kind.places,
  isDebianRoot = existsSync("/etc/debian_version") && process.getuid?.() === 0,
  say = () => undefined,
}: Machine = {}): Found {
  const { title, variable, packages } = kind;
  const advice = `Install it (Debian: apt-get install ${packages[0]}), or name one in ${variable}.`;
  const given = env[variable];
  if (given !== undefined && given !== "") {
    return existsSync(given) ? running(given, advice, env) : { why: `${variable} names ${given}, which is not there.` };
  }
  const known = installed(kind, env, places);
  if (known !== undefined) return running(known, advice, env);
  if (!isDebianRoot) return { why: `No ${title} was found. ${advice}` };
  say(`No ${title} was found: apt-get installs it, which takes a minute or two.`);
  const refusal = install(packages, env);
  const fresh = installed(kind, env, places);
  if (fresh !== undefined) return running(fresh, advice, env);
  return { why: `No ${title} was found, and apt-get could not install it (${refusal ?? "it left none"}). ${advice}` };
}

function installed({ names }: Kind, env: NodeJS.ProcessEnv, places: readonly string[]): string | undefined {
  const folders = (env["PATH"] ?? "").split(delimiter);
  const candidates = [...names.flatMap((name) => folders.map((folder) => join(folder, name))), ...places];
  return candidates.find((path) => existsSync(path));
}

/** A package may leave a command that only says where to get the browser. */
function running(path: string, advice: string, env: NodeJS.ProcessEnv): Found {
  if (process.platform === "win32") return { path, version: "unknown" }; // there the question opens a window
  const { status, stdout, stderr, error } = spawnSync(path, ["--version"], { env, encoding: "utf8", timeout: 60_000 });
  if (status === 0) return { path, version: stdout.trim() };
  const said = error?.message ?? (lastLine(stderr) || `exit ${status}`);
  return { why: `${path} does not run (${said}). ${advice}` };
}

/** Answers what apt-get complained of. */
function install(packages: readonly string[], env: NodeJS.ProcessEnv): string | undefined {
  const apt = (...args: string[]) =>
    spawnSync("apt-get", args, {
      env: { ...env, DEBIAN_FRONTEND: "noninteractive" },
      encoding: "utf8",
      timeout: 300_000,
    });
  apt("update", "-qq");
  const { status, stderr, error } = apt(
    ...["-o", "DPkg::Lock::Timeout=120", "install", "-y", "-qq", "--no-install-recommends"],
    ...packages,
  );
  return status === 0 ? undefined : (error?.message ?? (lastLine(stderr) || `exit ${status}`));
}

const lastLine = (text: string) => text.trim().split("\n").at(-1) ?? "";
