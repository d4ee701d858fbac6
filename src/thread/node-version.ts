import { HeddleError } from "./errors.ts";

/** Every entry point imports this file first. Without it, an older Node fails later with an unclear error. */
const { process } = globalThis as { readonly process?: { readonly versions?: { readonly node?: string } } }; // absent in browsers
const version = process?.versions?.node;
const [major = 0, minor = 0] = version?.split(".").map(Number) ?? [];

if (version !== undefined && (major < 22 || (major === 22 && minor < 13))) {
  const message = `heddle needs Node 22.13 or later, but this is v${version}. Install a newer Node.`;
  const error = new HeddleError({ code: "node_too_old", message });
  error.stack = message; // a stack trace would not help
  throw error;
}
