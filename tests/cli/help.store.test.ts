import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { COMMANDS } from "../../src/cli/commands.ts";
import { fastFolder } from "../support/temp-folder.ts";
import { AGENT, stdinOf, withServer } from "./support/examples.ts";
import { run } from "./support/fake-io.ts";
import { wordsOf } from "./support/words.ts";

/** What an example finds before it runs, where that is more than a thread that was answered. */
const BEFORE: { readonly [name: string]: (cwd: string) => Promise<void> } = {
  approve: waiting,
  deny: waiting,
  cancel: waiting,
  worker: async (cwd) => writeFileSync(join(cwd, "agent.ts"), AGENT),
  serve: async (cwd) => writeFileSync(join(cwd, "agent.ts"), AGENT),
  answer: async (cwd) => {
    writeFileSync(join(cwd, "agent.ts"), AGENT);
    await run(["ask", "How warm is it?", "--agent", "agent.ts"], { cwd });
  },
  import: async (cwd) => {
    await run(["export", "last", "-o", "thread.jsonl"], { cwd });
    writeFileSync(join(cwd, "messages.json"), JSON.stringify([{ role: "user", content: "Hello" }]));
  },
  summarize: async (cwd) => {
    for (const text of ["And times 2?", "And plus 1?"]) await run(["ask", "-t", "last", text], { cwd });
  },
};
/** Commands that run until they are interrupted, and what they write when they are ready. */
const SERVES: { readonly [name: string]: RegExp } = { studio: /http:/, serve: /http:/, worker: /^Working on/ };
/** Ends with something else than 0, and says so. */
const CODES: { readonly [name: string]: number } = { steer: 4 };

async function waiting(cwd: string): Promise<void> {
  const { code } = await run(["ask", "Send 20 euros to Ada."], { cwd });
  expect(code).toBe(4);
}

const loaded = await Promise.all(COMMANDS.map(async (listed) => ({ ...listed, ...(await listed.load()) })));
const examples = loaded.flatMap(({ name, examples }) => examples.map(({ run: line }) => ({ name, line })));

describe("help", () => {
  test.for(loaded)("of $name shows an example", async ({ name, summary, examples: own }) => {
    expect(own.length).toBeGreaterThan(0);
    const { code, stdout } = await run([name, "--help"], { cwd: fastFolder() });
    expect(code).toBe(0);
    expect(stdout).toContain(summary);
    for (const { run: line } of own) expect(stdout).toContain(line);
  });

  test.for(examples)("the example works: $line", async ({ name, line }) => {
    const cwd = fastFolder();
    for (const text of ["What is (17 + 25) * 3?", "And times 2?"]) {
      const thread = text.startsWith("And") ? ["--thread", "last"] : [];
      expect(await run(["ask", ...thread, text], { cwd })).toMatchObject({ code: 0 });
    }
    await BEFORE[name]?.(cwd);
    const { words, stdin } = wordsOf(line);
    expect(words[0]).toBe("heddle");
    const given = await stdinOf(stdin);
    const ran = await withServer(words, cwd, (args) =>
      run(args, {
        cwd,
        ...(given !== undefined && { stdin: given }),
        onWrite: (text, interrupt) => {
          const isUp =
            SERVES[name] !== undefined ? SERVES[name].test(text) : words.includes("--follow") && /^\d+ /.test(text);
          if (isUp) queueMicrotask(interrupt);
        },
      }),
    );
    const usual = words.includes("--follow") ? 130 : 0;
    expect(ran, ran.stderr).toMatchObject({ code: CODES[name] ?? usual });
    if (words.includes("--json"))
      for (const one of ran.stdout.trim().split("\n")) expect(() => JSON.parse(one)).not.toThrow();
  });
});
