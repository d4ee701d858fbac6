import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
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

/** Files that get smaller. Pictures and fonts are compressed already. */
const COMPRESSED = /^(text\/|application\/(json|manifest)|image\/svg)/;
const LINK = /\b(href|src)="([\w.-]+\.(?:css|js))"/g;

const ENCODINGS = {
  br: (bytes: Uint8Array) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (bytes: Uint8Array) => promisify(gzip)(bytes),
} as const;

/** The largest number of files that are kept compressed. A page that is built again has other files. */
const MAX_COMPRESSED = 64;

/**
 * Serves the files of the page. Only files listed at the start are served, so no path leads outside the folder. The page
 * names its files with their hash, so a browser keeps them until they change.
 */
export class Page {
  readonly #folders: readonly string[];
  readonly #compressed = new Map<string, Promise<Uint8Array<ArrayBuffer>>>();
  #files: Promise<ReadonlyMap<string, string>> | undefined;

  constructor(folder: string | undefined) {
    this.#folders = folder === undefined ? FOLDERS : [folder];
  }

  async serve(request: Request, { pathname, searchParams }: URL): Promise<Response> {
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
    const type = TYPES[extname(path)] ?? "application/octet-stream";
    const isIndex = path === files.get(INDEX);
    const bytes = isIndex ? await withHashes(path, files) : new Uint8Array(await readFile(path));
    const hash = hashOf(bytes);
    const isNamed = !isIndex && searchParams.get("v") === hash;
    const cached = { etag: `"${hash}"`, "cache-control": isNamed ? "public, max-age=31536000, immutable" : "no-cache" };
    if (request.headers.get("if-none-match")?.includes(cached.etag)) return reply(null, type, 304, cached);
    const encoding = COMPRESSED.test(type) ? encodingFor(request) : undefined;
    if (encoding === undefined) return reply(bytes, type, 200, cached);
    const headers = { ...cached, "content-encoding": encoding, vary: "accept-encoding" };
    return reply(await this.#compress(bytes, hash, encoding), type, 200, headers);
  }

  #compress(bytes: Uint8Array, hash: string, encoding: keyof typeof ENCODINGS): Promise<Uint8Array<ArrayBuffer>> {
    const key = `${hash} ${encoding}`;
    const known = this.#compressed.get(key);
    if (known !== undefined) return known;
    if (this.#compressed.size >= MAX_COMPRESSED) this.#compressed.clear();
    const compressed = ENCODINGS[encoding](bytes).then((made) => new Uint8Array(made));
    this.#compressed.set(key, compressed);
    return compressed;
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

/** The page with the hash of each file that it loads, as in `app.js?v=<hash>`. */
async function withHashes(path: string, files: ReadonlyMap<string, string>): Promise<Uint8Array<ArrayBuffer>> {
  const text = await readFile(path, "utf8");
  const names = [...text.matchAll(LINK)].flatMap(([, , name = ""]) => (files.has(name) ? [name] : []));
  const hashes = new Map<string, string>();
  for (const name of names) hashes.set(name, hashOf(await readFile(files.get(name) ?? "")));
  const linked = text.replaceAll(LINK, (link, kind: string, name: string) =>
    hashes.has(name) ? `${kind}="${name}?v=${hashes.get(name)}"` : link,
  );
  return new TextEncoder().encode(linked);
}

function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("base64url").slice(0, 22);
}

function encodingFor({ headers }: Request): keyof typeof ENCODINGS | undefined {
  const accepted = headers.get("accept-encoding") ?? "";
  if (/\bbr\b(?!\s*;\s*q=0(?:\.0+)?\s*(?:,|$))/.test(accepted)) return "br";
  return /\bgzip\b(?!\s*;\s*q=0(?:\.0+)?\s*(?:,|$))/.test(accepted) ? "gzip" : undefined;
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
