import postgres from "postgres";

/** Somebody else's server: tests may use it, but it is not theirs to stop or kill. */
export type BorrowedServer = {
  readonly own: false;
  readonly source: "DATABASE_URL";
  readonly url: string;
  readonly version: string;
};

export async function borrowServer(url: string): Promise<BorrowedServer> {
  return { own: false, source: "DATABASE_URL", url, version: await serverVersion(url) };
}

/** Asking for the version is also the proof, before any test runs, that the server answers. */
async function serverVersion(url: string): Promise<string> {
  const sql = postgres(url, { max: 1, connect_timeout: 10 });
  try {
    const [row] = await sql<{ server_version: string }[]>`show server_version`;
    return row?.server_version.split(" ")[0] ?? "unknown";
  } catch (cause) {
    // The url holds a password, so the message does not repeat it.
    throw new Error("DATABASE_URL is set, but no Postgres server answers there; correct it or unset it", { cause });
  } finally {
    await sql.end({ timeout: 1 });
  }
}
