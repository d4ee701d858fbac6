import { open, readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { ContextPolicyInput } from "../projection/policy/fields.ts";
import { ContextPolicy } from "../projection/policy/policy.ts";
import { isPlainObject, type JsonValue } from "../thread/json.ts";
import { badUsage, CliError, EXIT, type Io } from "./io.ts";

// Values of options and arguments, from the command line or from a file that it names.

const PRESETS: { readonly [name: string]: (() => ContextPolicyInput) | undefined } = {
  default: () => ContextPolicy.create(),
  short: () => ContextPolicy.shortContext(),
  long: () => ContextPolicy.longContext(),
  tools: () => ContextPolicy.toolFocused(),
};

export const POLICY_HELP = 'short, long, tools, default, model:<name>, {"maxInputTokens":4000}, or @file.json';

/** Reads a policy: the name of a preset, `model:<name>`, JSON, or `@file`. */
export async function parsePolicy(io: Io, text: string): Promise<ContextPolicyInput> {
  const preset = Object.hasOwn(PRESETS, text) ? PRESETS[text] : undefined;
  if (preset !== undefined) return preset();
  if (text.startsWith("model:")) return ContextPolicy.forModel(text.slice("model:".length));
  const value = await readJson(io, text, `--policy must be ${POLICY_HELP}.`);
  if (isPlainObject(value)) return ContextPolicy.create(value as ContextPolicyInput); // `create` checks the value
  throw badUsage(`--policy must be ${POLICY_HELP}.`);
}

/** Reads JSON from the text, or from the file named after `@`. Invalid JSON fails with the message `otherwise`. */
export async function readJson(io: Io, text: string, otherwise: string): Promise<JsonValue> {
  const json = await readText(io, text);
  try {
    return JSON.parse(json);
  } catch {
    throw badUsage(otherwise);
  }
}

/** Returns the text, or the content of the file named after `@`. */
export async function readText(io: Io, text: string): Promise<string> {
  return text.startsWith("@") ? readTextFile(io, text.slice(1)) : text;
}

export interface ByteSource {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** The size in bytes. Undefined for a pipe, whose size is not known in advance. */
  readonly size: number | undefined;
}

/** Opens a file as a stream. */
export async function openFile(io: Io, path: string): Promise<ByteSource> {
  try {
    const file = await open(resolve(io.cwd, path));
    const found = await file.stat();
    if (found.isDirectory()) {
      await file.close();
      throw new Error("a folder");
    }
    return { chunks: file.createReadStream(), size: found.isFile() ? found.size : undefined };
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

async function readTextFile(io: Io, path: string): Promise<string> {
  try {
    return await readFile(resolve(io.cwd, path), "utf8");
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

function unreadable(path: string, cause: unknown): CliError {
  const isMissing = (cause as NodeJS.ErrnoException).code === "ENOENT"; // node:fs throws ErrnoException
  const message = isMissing ? `There is no file ${path}.` : `The file ${path} cannot be read.`;
  return new CliError({ code: "file_unreadable", exit: isMissing ? EXIT.notFound : EXIT.failed, message, cause });
}

/** Returns the text to send: the arguments, or stdin if there are none or only `-`. */
export async function readContent(io: Io, args: readonly string[]): Promise<string> {
  const isPiped = args.length === 0 ? !io.stdinIsTerminal : args.length === 1 && args[0] === "-";
  const text = (isPiped ? await io.text() : args.join(" ")).trim();
  if (text !== "") return text;
  throw badUsage('The text is empty. Give it as an argument, or pipe it in: echo "What is 6 * 7?" | heddle ask');
}
