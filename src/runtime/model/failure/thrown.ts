import { fieldsIn } from "../raw-part.ts";

/** What can be learnt of an error, whatever package threw it, and of the errors inside of it. */
export interface ThrownFacts {
  /** Of the HTTP answer. */
  readonly status: number | undefined;
  /** Names of classes, codes and types: words that programs write. */
  readonly words: readonly string[];
  /** What people are to read, with the body of the answer; it may hold anything, so it is looked at and never shown. */
  readonly text: string;
  readonly retryable: boolean | undefined;
  readonly header: (name: string) => string | undefined;
}

const MAX_TEXT = 20_000;
const MAX_DEPTH = 6;

/** Where errors keep other errors, and where answers keep theirs. */
const INSIDE = ["cause", "data", "error", "lastError", "response", "$metadata", "details", "0"] as const;
const STATUS = ["statusCode", "status", "httpStatusCode", "code", "error_code"] as const;
const WORDS = ["name", "code", "type", "status", "reason", "param"] as const;

type Fields = { readonly [field: string]: unknown };

export function factsOf(error: unknown): ThrownFacts {
  const all = layersOf(error, 0);
  const texts = all.flatMap((layer) => [layer["message"], layer["responseBody"], layer["text"]]).filter(isText);
  const headers = all
    .map((layer) => layer["responseHeaders"] ?? layer["headers"])
    .filter((found) => found !== undefined);
  return {
    status: all.flatMap((layer) => STATUS.map((field) => statusIn(layer[field]))).find((found) => found !== undefined),
    words: all.flatMap((layer) => WORDS.map((field) => layer[field])).filter(isText),
    text: (typeof error === "string" ? [error] : texts).join("\n").slice(0, MAX_TEXT),
    retryable: all.map((layer) => layer["isRetryable"]).find((found) => typeof found === "boolean"),
    header: (name) => headers.map((list) => headerIn(list, name)).find((found) => found !== undefined),
  };
}

/** The error and everything inside of it that may know more; a body of JSON counts as well. */
function layersOf(value: unknown, depth: number): readonly Fields[] {
  if (depth > MAX_DEPTH) return [];
  const own = fieldsOf(value);
  if (own === undefined) return [];
  const body = parsed(own["responseBody"]);
  return [own, ...[...INSIDE.map((field) => own[field]), body].flatMap((inside) => layersOf(inside, depth + 1))];
}

/** Messages and names of errors are no fields of their own, and are read one by one. */
function fieldsOf(value: unknown): Fields | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const named = Object.fromEntries(
    ["name", "message", "cause", "code"].map((field) => [field, readField(value, field)]),
  );
  return { ...named, ...fieldsIn(value) };
}

function readField(value: object, field: string): unknown {
  try {
    return Reflect.get(value, field);
  } catch {
    return undefined; // a getter or a proxy that throws
  }
}

function parsed(body: unknown): unknown {
  if (typeof body !== "string" || body.length > MAX_TEXT) return undefined;
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function statusIn(value: unknown): number | undefined {
  const status = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof status === "number" && status >= 400 && status < 600 ? status : undefined;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function headerIn(list: unknown, name: string): string | undefined {
  if (typeof Headers !== "undefined" && list instanceof Headers) return list.get(name) ?? undefined;
  const found = Object.entries(fieldsIn(list)).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof found === "string" || typeof found === "number" ? String(found) : undefined;
}
