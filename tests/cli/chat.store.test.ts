import { expect, test } from "vitest";
import { fastFolder } from "../support/temp-folder.ts";
import { type FakeOptions, run } from "./support/fake-io.ts";

const LONG = "Add up the numbers from 1 to 12, one call at a time.";
const SLOW = { HEDDLE_DEMO_WORD_MS: "1" };

/** A talk at a terminal, in which lines are typed as soon as something is written. */
async function talk(
  answers: readonly (string | undefined)[],
  typed: readonly (readonly [after: string, line: string])[] = [],
  options: Partial<FakeOptions> = {},
) {
  const cwd = options.cwd ?? fastFolder();
  const left = [...typed];
  let written = "";
  const ran = await run(["chat"], {
    cwd,
    answers,
    env: SLOW,
    ...options,
    onWrite: (text, _interrupt, type) => {
      written += text;
      const [next] = left;
      if (next === undefined || !written.includes(next[0])) return;
      left.shift();
      type(next[1]);
    },
  });
  return { ...ran, cwd, untyped: left };
}

async function entriesIn(
  cwd: string,
): Promise<readonly { kind: string; payload: { content?: string; steer?: string } }[]> {
  return JSON.parse((await run(["show", "last", "--all", "--json"], { cwd })).stdout).entries;
}

test("a line that is typed while an answer comes is sent to the request, and its delivery shown", async () => {
  const { code, stderr, cwd, untyped } = await talk([LONG, ""], [["← ", "Quickly, please."]]);
  expect({ code, untyped }, stderr).toEqual({ code: 0, untyped: [] });
  expect(stderr).toContain("delivered: Quickly, please.");
  const entries = await entriesIn(cwd);
  const steered = entries.filter(({ payload }) => payload.steer !== undefined);
  expect(steered).toMatchObject([{ payload: { content: "Quickly, please.", steer: "steer" } }]);
});

test("/followup waits for the end, /cancel ends the answer, an unknown command is reported and not sent", async () => {
  const follow = await talk([LONG, ""], [["← ", "/followup What is 6 * 7?"]]);
  expect(follow.stdout).toMatch(/78[\s\S]*42/);
  const cancelled = await talk([LONG, "What is 1 + 1?", ""], [["← ", "/cancel"]]);
  expect(cancelled).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("Cancelled."),
    stdout: "1 + 1 is **2**.\n",
  });
  const unknown = await talk([LONG, ""], [["← ", "/nonsense now"]]);
  expect(unknown.stderr).toContain("There is no /nonsense");
  expect(JSON.stringify(await entriesIn(unknown.cwd))).not.toContain("nonsense");
});

test("/quit ends the answer and the chat; commands at the prompt say that no answer is running", async () => {
  const quit = await talk([LONG, "What is 1 + 1?"], [["← ", "/quit"]]);
  expect(quit).toMatchObject({ code: 0, stdout: "" });
  const idle = await talk(["/help", "/cancel", "/nonsense", "//slashes", "/quit"]);
  expect(idle.stderr).toMatch(/\/followup[\s\S]*Nothing is being answered[\s\S]*There is no \/nonsense/);
  expect((await entriesIn(idle.cwd))[0]?.payload.content).toBe("/slashes");
});

test("a line that is typed as an answer ends is sent or asked next, but never lost", async () => {
  const { code, stdout, stderr } = await talk(["What is 6 * 7?", ""], [["**42**", "What is 2 + 3?"]], {
    env: { HEDDLE_DEMO_WORD_MS: "0" },
  });
  expect(stderr).toMatch(/delivered:/);
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("2 + 3 is **5**.") });
});

test("an approval in a talk is asked about; what is neither yes nor no is asked again", async () => {
  const { code, stdout, stderr } = await talk(["Send 20 euros to Ada.", "perhaps", "y", "What is 1 + 1?", ""]);
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(/Done: 20 euros[\s\S]*1 \+ 1 is/) });
  expect(stderr).toContain("y or n");
});

test("a first line that is refused leaves no thread behind, and the chat continues", async () => {
  const cwd = fastFolder();
  const tooSmall = JSON.stringify({ maxInputTokens: 100, reserveOutputTokens: 50 });
  const refused = await run(["chat", "--policy", tooSmall], { cwd, answers: ["What is 1 + 1?", "And 2 + 2?", ""] });
  expect(refused.code).toBe(1);
  expect(refused.stderr.match(/error:/g)).toHaveLength(2);
  const piped = await run(["chat", "--policy", tooSmall], { cwd, stdin: "What is 1 + 1?\nAnd 2 + 2?\n" });
  expect(piped.code).toBe(1);
  expect(piped.stderr.match(/error:/g)).toHaveLength(1);
  expect(JSON.parse((await run(["threads", "--json"], { cwd })).stdout).threads).toEqual([]);
});

test("in a pipe a line with a slash is asked like any other", async () => {
  const cwd = fastFolder();
  const { code } = await run(["chat"], { cwd, stdin: "/cancel\n" });
  expect(code).toBe(0);
  expect((await entriesIn(cwd))[0]?.payload.content).toBe("/cancel");
});
