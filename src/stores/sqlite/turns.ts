import { closeSync, constants, openSync, readSync, statSync, writeSync } from "node:fs";
import { BUSY_TIMEOUT_MS, BusyPauses, between } from "./errors.ts";

/** When more processes wait at once, some of them have no place in the queue. */
const SLOTS = 128;

/** Calls that still look for earlier waiters after one found the lock taken. */
const CALLS_WITH_LOOK = 8;

const MAX_PAUSE_MS = 50;

/** Looks of a call that waits behind others, before it tries out of turn. */
const MAX_LOOKS = 12;

/**
 * The turns of the processes that wait for the write lock of one file. Waiting processes write the time of their arrival
 * into a small file beside the database, and each lets earlier ones go first. This is only advice: the lock itself
 * is SQLite's. So a lost or wrong ticket, or one of a killed process, costs some milliseconds and nothing else. A process
 * that never finds the lock taken does not touch the file.
 */
export class Turns {
  readonly #queue: TicketFile;
  /** For a file that cannot be used. */
  readonly #pauses = new BusyPauses();
  #callsWithLook = 0;
  /** Looks of this call since its last try. */
  #looks = 0;
  /** The earlier waiters that this call saw first. */
  #aheadAtFirst: number | undefined;
  /** About how long one process has the lock. */
  #turnMs = 2;

  /** `database` returns the path of the database, or "" when there is none. */
  constructor(database: () => string) {
    this.#queue = new TicketFile(database);
  }

  /** The pause before a call begins. */
  first(): number {
    return this.#queue.isUsable ? 0 : this.#pauses.first();
  }

  /** The pause of a call that has waited so long, before it looks again. 0 when it must try to get the lock now. */
  beforeTry(waitedMs: number): number {
    if (this.#callsWithLook === 0 || !this.#queue.isUsable) return 0;
    const ahead = this.#queue.enter(waitedMs);
    this.#aheadAtFirst ??= ahead;
    // Earlier waiters may be dead or stopped, so a call also tries out of turn.
    if (ahead === 0 || ++this.#looks >= Math.min(3 * ahead, MAX_LOOKS)) return 0;
    return between(1, (this.#turnMs * ahead) / 3, MAX_PAUSE_MS);
  }

  /** The lock was taken. Returns the pause before the next look. */
  afterTry(waitedMs: number): number {
    if (!this.#queue.isUsable) return this.#pauses.next(waitedMs);
    this.#callsWithLook = CALLS_WITH_LOOK;
    this.#looks = 0;
    return between(1, waitedMs / 32, 10);
  }

  /** The call got the lock. */
  begin(waitedMs: number): void {
    this.#pauses.end(waitedMs);
    if (this.#aheadAtFirst === 0) this.#callsWithLook--;
    else if (this.#aheadAtFirst !== undefined) {
      const turnMs = Math.min(MAX_PAUSE_MS, waitedMs / (this.#aheadAtFirst + 1));
      this.#turnMs += (turnMs - this.#turnMs) / 4;
    }
    this.#queue.removeEarlier();
  }

  /** The call has released the lock or failed. Until here its ticket shows the next call that the lock is taken. */
  end(): void {
    this.#aheadAtFirst = undefined;
    this.#looks = 0;
    this.#queue.leave();
  }

  close(): void {
    this.#queue.close();
  }
}

/** The tickets of waiting calls, one for each connection: the time of arrival by the clock of the machine, or 0. */
class TicketFile {
  readonly #database: () => string;
  readonly #tickets = new Float64Array(SLOTS);
  #file: number | undefined;
  #slot = Math.floor(Math.random() * SLOTS);
  #ticket = 0;
  #isUsable = true;

  constructor(database: () => string) {
    this.#database = database;
  }

  get isUsable(): boolean {
    return this.#isUsable;
  }

  /** Writes a ticket, unless it is there, and returns how many others are older. */
  enter(waitedMs: number): number {
    return this.#attempt(() => {
      const now = Date.now();
      if (this.#ticket === 0) this.#ticket = now - waitedMs;
      const isWaiting = (ticket: number) => ticket > now - BUSY_TIMEOUT_MS;
      this.#file ??= this.#open();
      readSync(this.#file, this.#tickets, 0, this.#tickets.byteLength, 0);
      if (this.#tickets[this.#slot] !== this.#ticket) {
        const isFree = (slot: number) => !isWaiting(this.#tickets[slot] ?? 0);
        for (let tried = 0; tried < SLOTS && !isFree(this.#slot); tried++) this.#slot = (this.#slot + 1) % SLOTS;
        this.#put(this.#slot, this.#ticket);
      }
      return this.#tickets.reduce((count, other) => (isWaiting(other) && other < this.#ticket ? count + 1 : count), 0);
    });
  }

  /** Removes the older tickets that `enter` has seen. A process that still waits writes its ticket again. */
  removeEarlier(): void {
    if (this.#ticket === 0) return;
    this.#attempt(() => {
      for (const [slot, other] of this.#tickets.entries()) if (other !== 0 && other < this.#ticket) this.#put(slot, 0);
      return 0;
    });
  }

  leave(): void {
    if (this.#ticket === 0) return;
    this.#attempt(() => this.#put(this.#slot, 0));
    this.#ticket = 0;
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
    this.#isUsable = false;
  }

  /** With the permissions of the database, as SQLite does it for its log. */
  #open(): number {
    const path = this.#database();
    const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;
    return openSync(`${path}-turns`, flags, statSync(path).mode & 0o777);
  }

  #put(slot: number, ticket: number): number {
    if (this.#file === undefined) return 0;
    return writeSync(this.#file, new Float64Array([ticket]), 0, Float64Array.BYTES_PER_ELEMENT, slot * 8);
  }

  /** After an error, such as a missing permission, the file is not used again. */
  #attempt(work: () => number): number {
    try {
      return work();
    } catch {
      this.#isUsable = false;
      return 0;
    }
  }
}
