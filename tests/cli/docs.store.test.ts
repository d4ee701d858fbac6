import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { COMMANDS } from "../../src/cli/commands.ts";
import { EXIT } from "../../src/cli/io.ts";
import { fastFolder } from "../support/temp-folder.ts";
import { AGENT, stdinOf, withServer } from "./support/examples.ts";
import { run } from "./support/fake-io.ts";
import { wordsOf } from "./support/words.ts";

const page = readFileSync(new URL("../../docs/cli.md", import.meta.url), "utf8");
const lines = [...page.matchAll(/^```sh\n([\s\S]*?)^```/gm)].flatMap(([, block = ""]) => block.trim().split("\n"));

test("docs/cli.md runs line by line, each line exits as its comment says", async () => {
  const cwd = fastFolder();
  writeFileSync(join(cwd, "agent.ts"), AGENT);
  writeFileSync(join(cwd, "messages.json"), JSON.stringify([{ role: "user", content: "Hello" }]));
  for (const whole of lines) {
    const [line = "", comment = ""] = whole.split(/ +# /);
    const { words, stdin } = wordsOf(line);
    const given = await stdinOf(stdin);
    const ran = await withServer(words, cwd, (args) =>
      run(args, {
        cwd,
        ...(given !== undefined && { stdin: given }),
        onWrite: (text, interrupt) => {
          if (words[1] === "studio" && text.startsWith("http")) queueMicrotask(interrupt);
          if (words[1] === "serve" && text.startsWith("http")) queueMicrotask(interrupt);
          if (words[1] === "worker" && text.startsWith("Working on")) queueMicrotask(interrupt);
        },
      }),
    );
    const code = Number(/\bexits with (\d)/.exec(comment)?.[1] ?? 0);
    expect(ran, `${whole}\n${ran.stderr}`).toMatchObject({ code });
  }
});

test("docs/cli.md shows every command, every exit code and what /help of a talk lists", async () => {
  expect(
    COMMANDS.map(({ name }) => name).filter((name) => !lines.some((line) => line.startsWith(`heddle ${name} `))),
  ).toEqual([]);
  const told = [...page.matchAll(/^\| ([\d, ]+) \|/gm)].flatMap(([, codes = ""]) => codes.split(",").map(Number));
  expect(told).toEqual(Object.values(EXIT).toSorted((a, b) => a - b));
  const { stderr } = await run(["chat"], { cwd: fastFolder(), answers: ["/help", ""] });
  for (const [name] of stderr.matchAll(/^ +\/\/?[a-z]+/gm)) expect(page).toContain(`\`${name.trim()}`);
});
