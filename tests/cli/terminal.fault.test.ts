import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openAt } from "../support/open-at.ts";
import { fastFolder } from "../support/temp-folder.ts";
import { Heddle, hasTerminals, heddle } from "./support/process.ts";

const QUICK = { HEDDLE_DEMO_WORD_MS: "0" };
const SLOW = { HEDDLE_DEMO_WORD_MS: "15" };
const LONG = "Add up the numbers from 1 to 40, one call at a time.";
const CTRL_C = "\u0003";
const CTRL_D = "\u0004";
const BACKSPACE = "\u007f";

/** What happens on a real terminal; `script` of util-linux makes one, and where it is not there none can be had. */
const onTerminal = test.skipIf(!hasTerminals);

function chat(cwd: string, env: { readonly [name: string]: string } = SLOW): Heddle {
  return new Heddle(["chat"], cwd, { NO_COLOR: "1", ...env }, 80);
}

async function lastThread(cwd: string): Promise<string> {
  return (await heddle(["show", "last", "--all"], cwd)).stdout;
}

onTerminal(
  "a line typed while an answer comes stands on a line of its own, is delivered, and is in the thread",
  async () => {
    const cwd = fastFolder();
    const talk = chat(cwd);
    await talk.wrote(/> /);
    talk.type(`${LONG}\r`);
    await talk.wrote(/← /);
    talk.type("Quick");
    await talk.wrote(/\n?[^\n]*> [^\n]*Quick/);
    const store = await openAt(`sqlite:${join(cwd, "heddle.db")}`);
    onTestFinished(() => store.close());
    const rev = async (): Promise<number> => (await store.list()).threads[0]?.rev ?? 0;
    const now = await rev();
    await expect.poll(rev, { message: "the request goes on" }).toBeGreaterThan(now + 3);
    expect(talk.stdout, "nothing is written into the line while it is typed").toMatch(/> [^\n]*Quick$/);
    talk.type("ly, please.\r");
    await talk.wrote(/delivered: Quickly, please\./);
    await talk.wrote(/> [^\n]*$/);
    talk.type(`${CTRL_C}${CTRL_C}`);
    await talk.ended;
    expect(await lastThread(cwd)).toContain("Quickly, please.");
  },
);

onTerminal("what is typed and taken back lets the answer go on", async () => {
  const cwd = fastFolder();
  const talk = chat(cwd);
  await talk.wrote(/> /);
  talk.type("What is 6 * 7?\r");
  await talk.wrote(/→ calculator/);
  talk.type("x");
  await talk.wrote(/> [^\n]*x/);
  talk.type(BACKSPACE);
  await talk.wrote(/6 \* 7 is \*\*42\*\*/);
  await talk.wrote(/42[\s\S]*> [^\n]*$/);
  talk.type(CTRL_D);
  const { code, stdout } = await talk.ended;
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(/thread thread_/) });
});

onTerminal(
  "an approval is asked about with y or n, Ctrl-C cancels an answer, and at the prompt it leaves",
  async () => {
    const cwd = fastFolder();
    const talk = chat(cwd);
    await talk.wrote(/> /);
    talk.type("Send 20 euros to Ada.\r");
    await talk.wrote(/\[y\/n\]/);
    talk.type("y\r");
    await talk.wrote(/Done: 20 euros/);
    await talk.wrote(/Done[\s\S]*\n[^\n]*> [^\n]*$/);
    talk.type(`${LONG}\r`);
    await talk.wrote(/one call[\s\S]*← /);
    talk.type(CTRL_C);
    await talk.wrote(/Cancelled\.[\s\S]*> [^\n]*$/);
    talk.type(CTRL_C);
    expect(await talk.ended).toMatchObject({ code: 130 });
    expect(await heddle(["verify", "--calls"], cwd)).toMatchObject({ code: 0 });
    expect(await heddle(["ask", "-t", "last", "What is 2 + 2?"], cwd, QUICK)).toMatchObject({ code: 0 });
  },
);

onTerminal("a dumb terminal is talked to without a single escape, and hears all the same", async () => {
  const cwd = fastFolder();
  const talk = new Heddle(["chat"], cwd, { ...SLOW, TERM: "dumb" }, 80);
  await talk.wrote(/> /);
  talk.type(`${LONG}\n`);
  await talk.wrote(/← /);
  talk.type("Quickly, please.\n");
  await talk.wrote(/delivered: Quickly/);
  talk.type(CTRL_D);
  const { stdout } = await talk.ended;
  expect(stdout).not.toContain("\u001b");
});

onTerminal("columns have titles at a terminal only, and what is cut fits its width", async () => {
  const cwd = fastFolder();
  await heddle(["ask", `What is 1 + 1? ${"And so on and so forth. ".repeat(20)}`], cwd, QUICK);
  const wide = await new Heddle(["threads"], cwd, { NO_COLOR: "1" }, 120).ended;
  const [titles = "", row = ""] = wide.stdout.split(/\r?\n/);
  expect(titles).toMatch(/^thread +status +entries +changed \(UTC\) +title$/);
  expect(row.indexOf("What is")).toBe(titles.indexOf("title"));
  expect([...row]).toHaveLength(120);
  const narrow = await new Heddle(["diff", "last"], cwd, { NO_COLOR: "1" }, 40).ended;
  for (const line of narrow.stdout.split(/\r?\n/).filter((one) => one.startsWith("  ["))) {
    expect([...line].length).toBeLessThanOrEqual(40);
  }
  const piped = await heddle(["threads"], cwd, { COLUMNS: "100" });
  expect(piped.stdout).toMatch(/^thread_/);
  expect([...(piped.stdout.split("\n")[0] ?? "")]).toHaveLength(100);
});

onTerminal("a bar is drawn on one line, whatever the width, and wiped", async () => {
  const cwd = fastFolder();
  const many = Array.from({ length: 9000 }, (_, index) => ({
    role: index % 2 ? "assistant" : "user",
    content: `${index}`,
  }));
  writeFileSync(join(cwd, "many.json"), JSON.stringify(many));
  const { code, stdout } = await new Heddle(["import", "many.json", "--format", "neutral"], cwd, {}, 34).ended;
  expect(code).toBe(0);
  expect(stdout).toMatch(/importing/);
  const drawn = stdout.split("\r").filter((one) => one.includes("importing"));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colors begin with one
  for (const one of drawn) expect([...one.replaceAll(/\u001b\[\d*[mK]/g, "")].length).toBeLessThan(34);
  expect(existsSync(join(cwd, "heddle.db"))).toBe(true);
});
