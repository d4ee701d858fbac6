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
  /** The kind of store. Unlike the URL, it has no password and can be shown. */
  readonly label: string;
}

/** Opens the named store. Unless `creates` is true, a missing SQLite file is an error and is not created. */
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
      // Imported by path, not by package name, so that the sources run without a build.
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
  return { store: await openStore(url), label: "" }; // throws an error that shows valid URLs
}

function missing(path: string): CliError {
  const message =
    `There is no store at ${path}. Create one with heddle ask "What is 6 * 7?" or heddle studio, or name an existing one ` +
    "with --store or HEDDLE_STORE.";
  return new CliError({ code: "store_missing", exit: EXIT.notFound, message });
}
