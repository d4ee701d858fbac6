import type { Sha256 } from "../thread/encoding.ts";
import { freezeJson, type JsonObject, type JsonValue, sameJson } from "../thread/json.ts";
import type { Command, CommandOutcome } from "./command.ts";
import { CorruptionError } from "./errors.ts";
import type { StoredCommand } from "./stored-records.ts";

/** A command with its checksum. */
export function sealCommand(threadId: string, command: Omit<StoredCommand, "checkSum">, sha256: Sha256): StoredCommand {
  return { ...command, checkSum: checkSumOf(threadId, command, sha256) };
}

/** Refuses a command that is not what the store wrote. */
export function checkCommand(threadId: string, command: StoredCommand, sha256: Sha256): StoredCommand {
  if (checkSumOf(threadId, command, sha256) === command.checkSum) return command;
  const trouble = `its command ${command.id} does not match its checksum`;
  throw new CorruptionError({ threadId, seq: -1, trouble });
}

/** A checked command as callers see it. */
export function readCommand({ id, type, body, revision, postedAt }: StoredCommand): Command {
  return Object.freeze({ id, type, body: parse(body) as JsonObject, revision, postedAt }); // a body is an object
}

/** The outcome of a checked command; undefined while it is pending. */
export function readOutcome({ outcome }: StoredCommand): CommandOutcome | undefined {
  return outcome === null ? undefined : (parse(outcome) as CommandOutcome); // only checked outcomes are written
}

/** The outcome of a command that is known only from the entry `<id>/0`. */
export function loggedOutcome(seq: number): CommandOutcome {
  return Object.freeze({ status: "logged", seq });
}

/** Whether the stored JSON text holds this value. */
export function isStoredAs(text: string, value: JsonValue): boolean {
  return sameJson(parse(text), value);
}

/** The id of the first entry of the answer to a command. No name contains a slash, so no other entry has this id by chance. */
export function answerId(commandId: string): string {
  return `${commandId}/0`;
}

function parse(text: string): JsonValue {
  return freezeJson(JSON.parse(text) as JsonValue); // the checksum proves that the store wrote it
}

const CHECK_SUM_LENGTH = 16;

function checkSumOf(threadId: string, command: Omit<StoredCommand, "checkSum">, sha256: Sha256): string {
  const { id, type, body, posted, revision, position, postedAt, outcome, doneAt } = command;
  const fields = [threadId, id, type, body, posted, revision, position, postedAt, outcome, doneAt];
  return sha256(JSON.stringify(["heddle.command/1", ...fields])).slice(0, CHECK_SUM_LENGTH);
}
