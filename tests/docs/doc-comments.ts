import { globSync, readFileSync } from "node:fs";
import * as heddle from "heddle";
import * as aiSdk from "heddle/ai-sdk";
import * as client from "heddle/client";
import * as cloudflare from "heddle/cloudflare";
import * as core from "heddle/core";
import * as providers from "heddle/providers";
import * as react from "heddle/react";
import * as restate from "heddle/restate";
import * as sqlite from "heddle/sqlite";
import * as stores from "heddle/store";
import * as studio from "heddle/studio";
import * as testing from "heddle/testing";
import { root } from "./built.ts";

/** The code below `@example` in the comment of a public name. */
export interface DocExample {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

const ENTRY_POINTS = {
  heddle,
  "heddle/core": core,
  "heddle/store": stores,
  "heddle/sqlite": sqlite,
  "heddle/cloudflare": cloudflare,
  "heddle/restate": restate,
  "heddle/providers": providers,
  "heddle/ai-sdk": aiSdk,
  "heddle/client": client,
  "heddle/react": react,
  "heddle/testing": testing,
  "heddle/studio": studio,
};

/** What an example may name without saying where it comes from. A new one that needs more is a line here. */
const DECLARED = `
import type { AskCommand, Entry, OpenStoreOptions, Reader, ThreadStore, Thread as AnyThread } from "heddle";
import type { UIChatMessage } from "heddle/client";
import type { DurableContext, DurableStorage } from "heddle/cloudflare";
import type { ReactChat } from "heddle/react";
import type { DatabaseDriver, StoreDriver } from "heddle/store";
import type { EngineSubject } from "heddle/testing";
import { serve } from "@restatedev/restate-sdk";
declare const store: ThreadStore;
declare const thread: AnyThread;
declare const entry: Entry;
declare const connection: unknown;
declare function myDriver(connection: unknown): StoreDriver;
declare function myDatabaseDriver(connection: unknown): DatabaseDriver;
declare function test(name: string, options: { skip?: string | undefined }, run: () => Promise<void>): void;
`;

export function docExamples(): readonly DocExample[] {
  return globSync("src/**/*.ts", { cwd: root })
    .sort()
    .flatMap((path) => examplesIn(path.replaceAll("\\", "/")));
}

function examplesIn(path: string): readonly DocExample[] {
  const text = readFileSync(`${root}${path}`, "utf8");
  const found = text.matchAll(/^[ ]*\* @example[ ]*\n((?:[ ]*\*(?!\/)(?! @).*\n)+)/gm);
  return [...found].map((match) => ({
    path,
    line: text.slice(0, match.index).split("\n").length + 1,
    text: (match[1] ?? "").replace(/^[ ]*\* ?/gm, ""),
  }));
}

/** A module that compiles when the example does. */
export function moduleOf({ path, text }: DocExample): string {
  if (/^declare module/m.test(text)) return `import "heddle";\n${text}`;
  const taken = new Set<string>(); // two entry points may have one name: the nearest comes first
  const isNear = (entry: string): boolean => path.startsWith(`src/${entry.replace("heddle/", "")}`);
  const sorted = Object.entries(ENTRY_POINTS).sort(([a], [b]) => Number(isNear(b)) - Number(isNear(a)));
  const imports = sorted.map(([entry, names]) => {
    const free = Object.keys(names).filter((name) => !taken.has(name));
    for (const name of free) taken.add(name);
    return importOf(free, entry);
  });
  const own = importOf(
    ownNames(path).filter((name) => !taken.has(name) && new RegExp(`\\b${name}\\b`).test(text)),
    `${root}${path}`,
  );
  return `${imports.join("\n")}\n${own}\n${DECLARED}\nasync function example(): Promise<void> {\n${text}\n}`;
}

/** An example of something that is not public may name what its own source file exports. */
function ownNames(path: string): readonly string[] {
  const text = readFileSync(`${root}${path}`, "utf8");
  const names = text.matchAll(/^export (?:async )?(?:class|const|function\*?) (\w+)/gm);
  return [...new Set([...names].map((match) => match[1] ?? ""))];
}

function importOf(names: readonly string[], from: string): string {
  return names.length === 0 ? "" : `import { ${names.join(", ")} } from "${from}";`;
}
