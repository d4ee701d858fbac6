import { tryRun } from "./run.ts";

/** Whom the server runs as; undefined means as ourselves. Node drops the extra groups when it switches user. */
export type ServerUser = { readonly uid: number; readonly gid: number } | undefined;

/** Postgres refuses to run as root, and tests in containers often are root. */
export async function serverUser(): Promise<ServerUser> {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ["postgres", "nobody"]) {
    const uid = Number(await tryRun("id", ["-u", name]));
    const gid = Number(await tryRun("id", ["-g", name]));
    if (uid > 0 && gid > 0) return { uid, gid };
  }
  throw new Error("Postgres refuses to run as root and no user postgres or nobody exists: test as another user");
}
