import { readdir, readFile } from "node:fs/promises";
import { extname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { reply, StudioError } from "./http/response.ts";

const TYPES: { readonly [extension: string]: string } = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".ico": "image/x-icon",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".map": "application/json; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".webmanifest": "application/manifest+json",
  ".woff2": "font/woff2",
};

/** The folder of the built page: next to the built module, or in dist when the TypeScript sources run. */
const FOLDERS = ["../studio-ui/", "../../dist/studio-ui/"].map((path) => fileURLToPath(new URL(path, import.meta.url)));

const INDEX = "index.html";
const TEMPLATE = "export.html";

/** Serves the files of the page. Only files listed at the start are served, so no path leads outside the folder. */
export class Page {
  readonly #folders: readonly string[];
  #files: Promise<ReadonlyMap<string, string>> | undefined;

  constructor(folder: string | undefined) {
    this.#folders = folder === undefined ? FOLDERS : [folder];
  }

  async serve(request: Request, { pathname }: URL): Promise<Response> {
    if (request.method !== "GET" && request.method !== "HEAD") {
      const message = "The page allows only GET.";
      throw new StudioError({ code: "method_not_allowed", status: 405, message, allow: "GET" });
    }
    const files = await this.#list();
    if (!files.has(INDEX)) return reply(NOT_BUILT, "text/plain; charset=utf-8", pathname === "/" ? 200 : 404);
    const name = pathname.slice(1) || INDEX;
    const path = files.get(name) ?? (extname(name) === "" ? files.get(INDEX) : undefined);
    if (path === undefined) {
      throw new StudioError({ code: "route_not_found", status: 404, message: "The page has no such file." });
    }
    return reply(new Uint8Array(await readFile(path)), TYPES[extname(path)] ?? "application/octet-stream");
  }

  /** Returns the HTML template for an exported thread. Undefined if the page was not built. */
  async exportTemplate(): Promise<string | undefined> {
    const path = (await this.#list()).get(TEMPLATE);
    return path === undefined ? undefined : readFile(path, "utf8");
  }

  /** The list is cached only if the page exists. A page that is built later needs no restart. */
  async #list(): Promise<ReadonlyMap<string, string>> {
    this.#files ??= firstOf(this.#folders);
    const files = await this.#files;
    if (!files.has(INDEX)) this.#files = undefined;
    return files;
  }
}

async function firstOf(folders: readonly string[]): Promise<ReadonlyMap<string, string>> {
  for (const folder of folders) {
    const files = await filesIn(folder);
    if (files.size > 0) return files;
  }
  return new Map();
}

async function filesIn(folder: string): Promise<ReadonlyMap<string, string>> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const paths = found.filter((item) => item.isFile()).map((item) => join(item.parentPath, item.name));
  const root = folder.endsWith(sep) ? folder : `${folder}${sep}`;
  return new Map(paths.map((path) => [path.slice(root.length).split(sep).join("/"), path]));
}

const NOT_BUILT = `Heddle Studio: the API is running, the page was not built.

Build it with \`npm run build\`, then load this page again.
The API is described by /api/openapi.json.
`;
