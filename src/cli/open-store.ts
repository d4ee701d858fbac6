import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { memoryStore } from "../stores/memory/memory-store.ts";
import { openStore } from "../stores/open-store.ts";
import type { ThreadStore } from "../stores/port.ts";
import { CliError, EXIT } from "./exit.ts";
import type { Io } from "./io.ts";

interface Wanted {
  readonly store: string | undefined;
  readonly tenant: string | undefined;
}

export interface OpenedStore {
  readonly store: ThreadStore;
  /** Its kind: what may be told of it. */
  readonly label: string;
}

/** Opens the store that was named. Who only reads, or acts on what is there, makes no file where there is none. */
export async function openNamed(io: Io, wanted: Wanted, creates: boolean): Promise<OpenedStore> {
  const url = wanted.store ?? (io.env["HEDDLE_STORE"] || "sqlite:./heddle.db");
  const tenant = wanted.tenant ?? (io.env["HEDDLE_TENANT"] || undefined);
  const options = tenant === undefined ? {} : { tenant };
  const [scheme = ""] = url.split(":", 1);
  const rest = url.slice(scheme.length + 1);
  switch (url.includes(":") ? scheme : "") {
    case "memory":
      return { store: memoryStore(options), label: "memory" };
    case "sqlite":
    case "file": {
      if (rest === "") break;
      const path = resolve(io.cwd, rest.replace(/^\/\/(?=\/)/, ""));
      if (!creates && !existsSync(path)) throw missing(rest);
      // By its file and not by the package's name, so that the sources run too.
      const { sqliteStore } = await import("../stores/sqlite/sqlite-store.ts");
      return { store: sqliteStore(path, options), label: "sqlite" };
    }
    case "postgres":
    case "postgresql": {
      const { openPostgresStore } = await import("../stores/postgres/postgres-store.ts");
      return { store: await openPostgresStore(url, options), label: "postgres" };
    }
    default:
  }
  return { store: await openStore(url), label: "" }; // says how such a URL is written
}

function missing(path: string): CliError {
  const message =
    `There is no store at ${path}. Begin one with heddle ask "What is 6 * 7?" or heddle studio, or say with --store or ` +
    "HEDDLE_STORE where it is.";
  return new CliError({ code: "store_missing", exit: EXIT.notFound, message });
}
