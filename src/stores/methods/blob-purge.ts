import type { StoreDriver } from "../driver.ts";
import { driverOutdated } from "../errors.ts";

/**
 * Removes some blobs that no thread has used for a time. True when there may be more. Errors are ignored, because the call that
 * purges has done its own work, and a later one purges again.
 */
export async function purgeBlobs(driver: StoreDriver, graceMs: number): Promise<boolean> {
  try {
    return (await driver.purgeBlobs?.(graceMs)) === true;
  } catch {
    return true;
  }
}

/** A driver in JavaScript that was written for an earlier version would lose blobs. */
export function checkKeepsBlobs({ blobs }: Partial<StoreDriver>): void {
  if (blobs === undefined) throw driverOutdated("blobs", "blobs and Decision.blobs");
}
