import { open, readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { ContextPolicyInput } from "../projection/policy/fields.ts";
import { ContextPolicy } from "../projection/policy/policy.ts";
import { isPlainObject, type JsonValue } from "../thread/json.ts";
import { badUsage, CliError, EXIT } from "./exit.ts";
import type { Io } from "./io.ts";

// Values of options and arguments, from the command line or from a file that it names.

const PRESETS: { readonly [name: string]: (() => ContextPolicyInput) | undefined } = {
  default: () => ContextPolicy.create(),
  short: () => ContextPolicy.shortContext(),
  long: () => ContextPolicy.longContext(),
  tools: () => ContextPolicy.toolFocused(),
};

export const POLICY_HELP = 'short, long, tools, default, model:<name>, {"maxInputTokens":4000}, or @file.json';

/** Reads a policy: the name of a preset, `model:<name>`, JSON, or `@file`. */
export async function policyGiven(io: Io, text: string): Promise<ContextPolicyInput> {
  const preset = Object.hasOwn(PRESETS, text) ? PRESETS[text] : undefined;
  if (preset !== undefined) return preset();
  if (text.startsWith("model:")) return ContextPolicy.forModel(text.slice("model:".length));
  const value = await jsonGiven(io, text, `--policy must be ${POLICY_HELP}.`);
  if (isPlainObject(value)) return ContextPolicy.create(value as ContextPolicyInput); // checked by create
  throw badUsage(`--policy must be ${POLICY_HELP}.`);
}

/** Reads JSON, or the file after `@`. Invalid JSON fails with the message `otherwise`. */
export async function jsonGiven(io: Io, text: string, otherwise: string): Promise<JsonValue> {
  const json = await textGiven(io, text);
  try {
    return JSON.parse(json);
  } catch {
    throw badUsage(otherwise);
  }
}

/** Reads text, or the file after `@`. */
export async function textGiven(io: Io, text: string): Promise<string> {
  return text.startsWith("@") ? fileGiven(io, text.slice(1)) : text;
}

export interface GivenBytes {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Undefined for a pipe, whose size is not known beforehand. */
  readonly size: number | undefined;
}

/** Opens a file as a stream. */
export async function bytesGiven(io: Io, path: string): Promise<GivenBytes> {
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

async function fileGiven(io: Io, path: string): Promise<string> {
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

/** The text to send: the arguments, or stdin if there are none or only `-`. */
export async function contentGiven(io: Io, args: readonly string[]): Promise<string> {
  const isPiped = args.length === 0 ? !io.stdinIsTerminal : args.length === 1 && args[0] === "-";
  const text = (isPiped ? await io.text() : args.join(" ")).trim();
  if (text !== "") return text;
  throw badUsage('The text is empty. Give it as an argument, or pipe it in: echo "What is 6 * 7?" | heddle ask');
}
