import { expect, test } from "vitest";
import { askForDecision, howToDecide } from "../../src/cli/decision-prompt.ts";
import type { Io } from "../../src/cli/io.ts";
import { Output } from "../../src/cli/output.ts";
import type { StudioClient } from "../../src/cli/studio-client.ts";

const silent = { isTerminal: true, columns: 80, write: async () => undefined };

/** What a person is asked before the call runs. */
async function questionFor(given: object): Promise<string> {
  const { io, out, questions } = printing();
  const client = {} as StudioClient; // nothing is decided
  const waiting = { toolCallId: "c1", name: "shell", kind: "approval", arguments: given } as const;
  await askForDecision({ io, out, client, threadId: "t" }, waiting as Parameters<typeof askForDecision>[1]);
  return questions.join("\n");
}

function printing() {
  const questions: string[] = [];
  const io = {
    stdout: silent,
    stderr: silent,
    env: { NO_COLOR: "1" },
    ask: async (question: string) => {
      questions.push(question);
      return "";
    },
  } as unknown as Io; // the rest is not used here
  return { io, out: new Output(io, {}), questions };
}

test("an approval in the terminal shows hidden and reordering characters escaped", async () => {
  const command = "rm \u202etxt.a\u202c \u200b\u{e0041}\u009b2J";
  expect(await questionFor({ command })).toBe(
    'May shell {"command":"rm \\u202etxt.a\\u202c \\u200b\\udb40\\udc41\\u009b2J"} run? [y/n] ',
  );
});

test("in a pipe all of what would run is printed, and a command that takes an id of any characters as one word", async () => {
  const { out } = printing();
  const command = `echo ${"a ".repeat(500)}; rm -rf /`;
  const waiting = (toolCallId: string) =>
    ({ toolCallId, name: "shell\nno", kind: "approval", arguments: { command } }) as Parameters<typeof howToDecide>[2];
  expect(howToDecide(out, "thread_1", waiting("call_1"))).toBe(
    `shell\\nno {"command":"${command}"} waits for approval: heddle approve thread_1 call_1, or heddle deny`,
  );
  expect(howToDecide(out, "thread_1", waiting("a; rm -rf ~ 'b'\n\u202e"))).toContain(
    "heddle approve thread_1 $'a; rm -rf ~ \\'b\\'\\n\\u202e', or",
  );
});

test("an approval in the terminal shows all of a long command", async () => {
  const command = `echo ${"a ".repeat(500)}; rm -rf /`;
  expect(await questionFor({ command })).toContain("; rm -rf /");
});
