import type { SummaryRequest } from "../../../../src/projection/summary/summary-request.ts";

/** A line of the frame, with what is quoted below it. */
export interface ReadPiece {
  readonly line: string;
  readonly said: string;
}

/** A request as a summarizer reads it that knows only what the instructions say. */
export interface ReadRequest {
  readonly instructions: string;
  /** All of the user message. */
  readonly given: string;
  readonly mark: string;
  readonly pieces: readonly ReadPiece[];
}

export function readRequest({ messages: [system, user] }: SummaryRequest): ReadRequest {
  const given = String(user.content);
  const mark = /A line that begins with (\[\S+\]) is written by/.exec(system.content)?.[1] ?? "no mark";
  const pieces: { line: string; said: string[] }[] = [];
  for (const line of given.split("\n")) {
    if (line.startsWith(`${mark} `)) pieces.push({ line: line.slice(mark.length + 1), said: [] });
    else pieces.at(-1)?.said.push(line);
  }
  return {
    instructions: system.content,
    given,
    mark,
    pieces: pieces.map(({ line, said }) => ({ line, said: said.join("\n") })),
  };
}
