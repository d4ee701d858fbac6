import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";

/** `state` begins as ps writes it: T is stopped, Z is a zombie. */
export type ProcessRow = { readonly pid: number; readonly parent: number; readonly state: string };

/** All processes of this machine now. Slim containers have no ps, so Linux is read from /proc. */
export function processTable(): readonly ProcessRow[] {
  return existsSync("/proc/self/stat") ? tableFromProc() : tableFromPs();
}

function tableFromProc(): readonly ProcessRow[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const stat = readIfThere(`/proc/${name}/stat`);
      // "pid (name) state parent ...", where the name may itself hold spaces and brackets.
      const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return state && parent ? [{ pid: Number(name), parent: Number(parent), state }] : [];
    });
}

function tableFromPs(): readonly ProcessRow[] {
  const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid=,stat="], { encoding: "utf8" }).trim().split("\n");
  return lines.map((line) => {
    const [pid, parent, state] = line.trim().split(/\s+/);
    return { pid: Number(pid), parent: Number(parent), state: state ?? "" };
  });
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
