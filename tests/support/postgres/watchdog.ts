import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";

/** Leaves nothing of a server behind, also when the test process dies by SIGKILL: it sees its stdin end. */
export type Watchdog = {
  /** The process to end; undefined when the server is down, so that a reused pid is never hit. */
  guard(pid: number | undefined): void;
  /** What happens at the death of the test process, now. */
  cleanUp(): Promise<void>;
};

// SIGQUIT is Postgres's immediate shutdown: the postmaster ends its backends, and its pid file goes last. Waiting for
// that file also ends where nobody reaps zombies. A killed server leaves the file, whose seventh line ends with the id
// of a small System V segment that would outlive every process. A test may have frozen the server: then it goes on first.
const script = `
pid=
while read -r line; do pid=$line; done
file=$1/data/postmaster.pid
if [ -n "$pid" ]; then
  pkill -CONT -P "$pid"
  kill -CONT "$pid"
  kill -QUIT "$pid"
  tries=100
  while [ $tries -gt 0 ] && [ -e "$file" ] && kill -0 "$pid"; do sleep 0.1; tries=$((tries - 1)); done
  kill -KILL "$pid"
fi
if [ -e "$file" ]; then ipcrm -m "$(sed -n '7s/.* //p' "$file")"; fi
rm -rf "$1"
`;

/** In a session of its own, so that Ctrl-C does not reach it; it never keeps the test process alive. */
export function startWatchdog(folder: string): Watchdog {
  const child = spawn("sh", ["-c", script, "heddle-postgres-watchdog", folder], {
    cwd: "/",
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  const ended = once(child, "exit");
  child.stdin.on("error", () => {});
  child.unref();
  (child.stdin as Socket).unref();
  return {
    guard(pid) {
      if (child.stdin.writable) child.stdin.write(`${pid ?? ""}\n`);
    },
    async cleanUp() {
      child.ref();
      child.stdin.end();
      await ended;
    },
  };
}
