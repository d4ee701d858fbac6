import type { JsonValue } from "../../thread/json.ts";
import { checkName } from "../../thread/names.ts";
import { sha256Bytes } from "../../thread/sha256.ts";
import { CorruptionError } from "../errors.ts";
import type { StoreContext } from "./context.ts";

/** The stored record is a hash, a line break and the JSON text. The hash detects damage. */
export async function putCheckpoint({ driver, ports }: StoreContext, key: string, text: string): Promise<void> {
  checkName("key", key);
  await driver.putRecord("checkpoint", key, `${ports.sha256(text)}\n${text}`);
}

export async function getCheckpoint({ driver, ports }: StoreContext, key: string): Promise<JsonValue | undefined> {
  checkName("key", key);
  const record = await driver.getRecord("checkpoint", key);
  if (record === undefined) return undefined;
  const text = typeof record === "string" ? record.slice(record.indexOf("\n") + 1) : "";
  if (record !== `${ports.sha256(text)}\n${text}`) throw damaged(`checkpoint ${key}`);
  return JSON.parse(text) as JsonValue; // the hash proves that putCheckpoint wrote it
}

export async function deleteCheckpoint({ driver }: StoreContext, key: string): Promise<boolean> {
  checkName("key", key);
  return driver.deleteRecord("checkpoint", key);
}

export async function putBlob({ driver, ports }: StoreContext, value: string | Uint8Array): Promise<string> {
  const hash = hashOf(value, ports.sha256);
  await driver.putRecord("blob", hash, value);
  return hash;
}

export async function getBlob(
  { driver, ports }: StoreContext,
  hash: string,
): Promise<JsonValue | Uint8Array | undefined> {
  checkName("hash", hash);
  const value = await driver.getRecord("blob", hash);
  if (value === undefined) return undefined;
  if (hashOf(value, ports.sha256) !== hash) throw damaged(`blob ${hash}`);
  return typeof value === "string" ? (JSON.parse(value) as JsonValue) : new Uint8Array(value); // the hash proves that putBlob wrote it
}

/** Hashes bytes behind a zero byte. JSON text never starts with one, so bytes and JSON never have the same hash. */
function hashOf(value: string | Uint8Array, sha256: (text: string) => string): string {
  if (typeof value === "string") return sha256(value);
  const marked = new Uint8Array(value.length + 1);
  marked.set(value, 1);
  return sha256Bytes(marked);
}

function damaged(what: string): CorruptionError {
  return new CorruptionError({ seq: -1, trouble: `${what} does not match its hash` });
}
