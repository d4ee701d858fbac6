import { StoreError } from "./errors.ts";

/** How far the upgrade of a database is. It happens once, when a newer version of Heddle opens the database. */
export interface UpgradeProgress {
  /** The schema before the upgrade. */
  readonly from: number;
  /** The schema after the upgrade. */
  readonly to: number;
  /** The number of entries of all tenants. Postgres estimates it. */
  readonly entries: number;
  /** The number of steps that are done, `steps` at the end. Postgres also counts a part of the step that runs. */
  readonly done: number;
  readonly steps: number;
}

/** Gets the progress of an upgrade: at the start, at least after each long step, and at the end. Its errors are ignored. */
export type OnUpgrade = (progress: UpgradeProgress) => void;

export function reportUpgrade(onUpgrade: OnUpgrade | undefined, progress: UpgradeProgress): void {
  try {
    onUpgrade?.(progress);
  } catch {} // a report that fails must not stop an upgrade
}

/** The steps of migrations. In their SQL text, a blank line separates two steps. */
export function stepsOf(migrations: readonly string[]): readonly string[] {
  return migrations.flatMap((ddl) => ddl.trim().split("\n\n"));
}

/** The error of a call that cannot wait for the upgrade by this process or another. */
export function upgradeRuns(progress: string, cause?: unknown): StoreError {
  const message = `The database is being upgraded for this version of Heddle${progress}. Try again when the upgrade is done.`;
  return new StoreError({ code: "store_busy", retryable: true, message, cause });
}
