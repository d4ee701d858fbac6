import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { ServerUser } from "./server-user.ts";

const execute = promisify(execFile);

/** The environment without our PG* and TZ settings, which initdb and postgres would obey. */
const { PATH } = process.env;
export const plainEnvironment: NodeJS.ProcessEnv = { PATH, LC_ALL: "C", TZ: "UTC" };

/** The output of a program of Postgres, run as the server's user from a folder that everyone may enter. */
export async function runAs(user: ServerUser, program: string, args: readonly string[]): Promise<string> {
  const { stdout } = await execute(program, args, { ...user, cwd: "/", env: plainEnvironment });
  return stdout.trim();
}

/** The output of a command of ours, in our own environment. */
export async function run(program: string, args: readonly string[], cwd?: string): Promise<string> {
  const { stdout } = await execute(program, args, cwd === undefined ? {} : { cwd });
  return stdout.trim();
}

/** For commands that may be missing: undefined when this one is, or when it fails. */
export async function tryRun(program: string, args: readonly string[]): Promise<string | undefined> {
  return run(program, args).catch(() => undefined);
}
