import { isPlainObject, type JsonObject, type JsonValue } from "../thread/json.ts";

/** The text on one line, shortened to `width` characters. */
export function line(text: string, width: number): string {
  const flat = text.trim().replaceAll(/\s+/g, " ");
  const letters = [...flat];
  return letters.length <= width ? flat : `${letters.slice(0, Math.max(0, width - 1)).join("")}…`;
}

/** The text of a content; one line or more for each part. */
export function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return content === undefined ? "" : JSON.stringify(content);
  return content.map(partText).filter(Boolean).join("\n");
}

function partText(part: JsonValue): string {
  if (!isPlainObject(part)) return JSON.stringify(part);
  const { type, text, filename, mediaType } = part as JsonObject; // content is JSON
  if (type === "text") return String(text ?? "");
  if (type === "thinking") return `(thinking) ${String(text ?? "")}`;
  if (type === "file") return `[file ${String(filename ?? mediaType ?? "")}]`;
  return type === "tool_call" ? "" : `[${String(type)}]`;
}

/** Aligns rows in columns. The last column gets the rest of the width, and its text is shortened. */
export function table(rows: readonly (readonly string[])[], width: number): readonly string[] {
  const columns = Math.max(0, ...rows.map(({ length }) => length));
  const widths = Array.from({ length: columns }, (_, at) =>
    Math.max(...rows.map((row) => [...(row[at] ?? "")].length)),
  );
  return rows.map((row) => {
    const before = row.slice(0, -1).map((cell, at) => cell.padEnd(widths[at] ?? 0));
    const used = before.reduce((sum, cell) => sum + [...cell].length + 2, 0);
    return [...before, line(row.at(-1) ?? "", Math.max(20, width - used))].join("  ").trimEnd();
  });
}

/** Wraps text to `width`. A longer word gets a line of its own. */
export function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

export function when(at: number): string {
  return new Date(at).toISOString().replace("T", " ").slice(0, 19);
}

export function indented(text: string, by = "  "): string {
  return text.replaceAll(/^(?=.)/gm, by);
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString("en-US")} ${number === 1 ? one : many}`;
}
