import { signal } from "@preact/signals";
import { problemOf } from "../data/source.ts";
import { go } from "./route.ts";
import { info, runAction, show } from "./studio.ts";

interface ImportProblem {
  readonly id: number;
  readonly file: File;
  readonly code: string;
  readonly message: string;
}

/** The name of the file that is being imported. Undefined while no import runs. */
export const importing = signal<string | undefined>(undefined);
export const importProblems = signal<readonly ImportProblem[]>([]);
let count = 0;

/** The formats that a list of messages can have. One list can fit several formats. */
export const MESSAGE_FORMATS = ["neutral", "openai-chat", "anthropic", "model-messages", "ui-messages"] as const;

export function dismissProblem(id: number): void {
  importProblems.value = importProblems.peek().filter((problem) => problem.id !== id);
}

/** Imports files one after the other and opens the last thread. Error messages stay until the user dismisses them. */
export async function importFiles(files: readonly File[], format?: string): Promise<void> {
  const actions = runAction.peek();
  if (actions === undefined || files.length === 0 || importing.peek() !== undefined) return;
  let last: string | undefined;
  for (const file of files) {
    importing.value = file.name;
    try {
      refuseTooLarge(file);
      const row = await actions.import(file, format);
      show(row);
      last = row.id;
    } catch (error) {
      importProblems.value = [...importProblems.peek(), { id: ++count, file, ...problemOf(error) }];
    }
  }
  importing.value = undefined;
  if (last !== undefined) go({ threadId: last });
}

/** Throws for a file above the server's limit, before the file is uploaded. */
function refuseTooLarge({ size }: File): void {
  const known = info.peek();
  if (known.state !== "there" || size <= known.value.importLimit) return;
  const most = `${Math.floor(known.value.importLimit / 1024 / 1024)} MiB`;
  const message = `This server accepts ${most} at most. Start it with a larger import limit, or use heddle import.`;
  throw Object.assign(new Error(message), { code: "body_too_large" });
}
