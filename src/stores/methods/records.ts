import { type Sha256, sha256Bytes } from "../../thread/encoding.ts";
import { copyJson, type JsonValue } from "../../thread/json.ts";
import { checkName } from "../../thread/options.ts";
import { CorruptionError, threadNotFound } from "../errors.ts";
import { checkOptions, checkRowSize } from "../options.ts";
import type { ThreadStore } from "../port.ts";
import { checkHead, sealHead, threadInfo } from "../row-format.ts";
import type { BlobUse } from "../stored-records.ts";
import { checkKeepsBlobs, purgeBlobs } from "./blobs.ts";
import { NOTHING, type StoreContext } from "./context.ts";

type RecordMethods = Pick<ThreadStore, "getCheckpoint" | "putCheckpoint" | "deleteCheckpoint" | "putBlob" | "getBlob">;

/** Checkpoints, stored under a key, and blobs, stored under the hash of their content. */
export function recordMethods(context: StoreContext): RecordMethods {
  const { ports } = context;
  /** A call of `putBlob` removes unused blobs now and then, so that no timer is needed. */
  let nextPurge = 0;
  return {
    async getCheckpoint(key, options = {}) {
      const { driver } = context.forCall(options);
      checkName("key", key);
      const record = await driver.getRecord("checkpoint", key);
      if (record === undefined) return undefined;
      const text = typeof record === "string" ? record.slice(record.indexOf("\n") + 1) : "";
      if (record !== checkpointRecord(text, ports.sha256)) throw damaged(`checkpoint ${key}`);
      return JSON.parse(text) as JsonValue; // the hash proves that putCheckpoint wrote it
    },

    async putCheckpoint(key, value, options = {}) {
      const text = JSON.stringify(copyJson(value, "value"));
      const { driver } = context.forCall(options);
      checkName("key", key);
      const record = checkpointRecord(text, ports.sha256);
      checkRowSize(driver, `Checkpoint ${key}`, record);
      await driver.putRecord("checkpoint", key, record);
    },

    async deleteCheckpoint(key, options = {}) {
      const { driver } = context.forCall(options);
      checkName("key", key);
      return driver.deleteRecord("checkpoint", key);
    },

    async putBlob(content, options = {}) {
      const value =
        content instanceof Uint8Array ? new Uint8Array(content) : JSON.stringify(copyJson(content, "content"));
      const { threadId, signal } = checkOptions(options, ["threadId", "signal"]);
      if (threadId !== undefined) checkName("threadId", threadId);
      context.checkOpen();
      const { driver } = context.withSignal(signal);
      const hash = blobHash(value, ports.sha256);
      checkRowSize(driver, `Blob ${hash}`, value);
      if (ports.clock() >= nextPurge)
        nextPurge = (await purgeBlobs(driver, ports.keepBlobsMs)) ? 0 : ports.clock() + ports.keepBlobsMs;
      if (threadId === undefined) await driver.putRecord("blob", hash, value);
      else {
        checkKeepsBlobs(context.driver);
        const blobs: readonly BlobUse[] = [{ hash, content: value, purpose: "put" }];
        await driver.transact(threadId, NOTHING, () => ({ result: undefined, blobs }));
      }
      return hash;
    },

    async getBlob(hash, options = {}) {
      const { driver } = context.forCall(options);
      checkName("hash", hash);
      const value = await driver.getRecord("blob", hash);
      if (value === undefined) return undefined;
      if (blobHash(value, ports.sha256) !== hash) throw damaged(`blob ${hash}`);
      // The hash proves that putBlob wrote it.
      return typeof value === "string" ? (JSON.parse(value) as JsonValue) : new Uint8Array(value);
    },
  };
}

/** A hash, a line break and the JSON text. The hash detects damage. */
function checkpointRecord(text: string, sha256: Sha256): string {
  return `${sha256(text)}\n${text}`;
}

/** Hashes bytes behind a zero byte. JSON text never starts with one, so bytes and JSON never have the same hash. */
function blobHash(value: string | Uint8Array, sha256: Sha256): string {
  if (typeof value === "string") return sha256(value);
  const prefixed = new Uint8Array(value.length + 1);
  prefixed.set(value, 1);
  return sha256Bytes(prefixed);
}

function damaged(name: string): CorruptionError {
  return new CorruptionError({ seq: -1, trouble: `${name} does not match its hash` });
}

/** `setOwner`: another owner for a thread. */
export function ownerMethods(context: StoreContext): Pick<ThreadStore, "setOwner"> {
  const { sha256 } = context.ports;
  return {
    async setOwner(threadId, owner, options = {}) {
      const { driver } = context.forCall(options);
      checkName("threadId", threadId);
      checkName("owner", owner);
      return driver.transact(threadId, NOTHING, ({ head: before, now }) => {
        if (before === undefined) throw threadNotFound(threadId);
        const head = sealHead(threadId, { ...checkHead(threadId, before, sha256), owner, updatedAt: now }, sha256);
        return { result: threadInfo(threadId, head), head };
      });
    },
  };
}
