import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { UIMessage } from "ai";
import type { UIRequestFacts } from "heddle/ai-sdk";
import type { ScriptedStep } from "heddle/testing";
import { expect } from "vitest";
import { anything } from "../../runtime/ui-messages/chat.ts";
import { fastFolder } from "../../support/temp-folder.ts";
import { type Chat, chatIn, type Setting, serverProcess, type Tab } from "./stage.ts";

/** What a person does in a chat page, and what the page then shows. */
export interface Scenario {
  readonly name: string;
  /** It needs neither the transport nor the hook of Heddle. */
  readonly isForSdk?: true;
  /** It ends the process of the server, so it has a server of its own. */
  readonly hasOwnServer?: true;
  readonly run: (setting: Setting) => Promise<void>;
}

/** Each word after the first waits for the clock. */
const slowly = (...text: string[]): ScriptedStep => ({ text, deltaDelayMs: 1 });

/** A tool that counts its runs. */
function payTool() {
  const runs: unknown[] = [];
  const execute = (input: unknown): string => {
    runs.push(input);
    return "paid";
  };
  return { runs, tools: { pay: { inputSchema: anything, needsApproval: true, execute } } };
}

/** A tool that runs until the test says so. */
function slowTool() {
  const result = Promise.withResolvers<string>();
  const runs: unknown[] = [];
  const execute = (input: unknown): Promise<string> => {
    runs.push(input);
    return result.promise;
  };
  return { runs, finish: () => result.resolve("blue"), tools: { look: { inputSchema: anything, execute } } };
}

const PAY = { calls: [{ name: "pay", arguments: { eur: 5 } }] };
const ASKED = 'assistant: pay {"eur":5} approval-requested';
const PAID = 'assistant: pay {"eur":5} output-available "paid" | Paid.';

/** Asks, and waits for the answer. */
async function say(tab: Tab, words: string): Promise<void> {
  await tab.send(words);
  await tab.isReady();
}

/** The metadata and data parts of each message. */
async function detailsIn(tab: Tab): Promise<readonly object[]> {
  const messages = JSON.parse(await tab.messages()) as UIMessage[]; // of the page
  return messages.map(({ metadata, parts }) => ({
    metadata,
    data: parts.flatMap((part) => ("data" in part ? [part.data] : [])),
  }));
}

interface PayChat {
  readonly chat: Chat;
  readonly tab: Tab;
  /** The inputs of the runs. */
  readonly runs: readonly unknown[];
}

/** A chat whose first message asks to pay, and waits for approval. */
async function askedToPay(setting: Setting, answer: ScriptedStep = "Paid."): Promise<PayChat> {
  const { runs, tools } = payTool();
  const chat = await chatIn(setting, { script: [PAY, answer], tools });
  const tab = await chat.open();
  await tab.send("Pay.");
  await tab.shows("user: Pay.", ASKED);
  return { chat, tab, runs };
}

async function answering(setting: Setting, ...rest: ScriptedStep[]): Promise<{ chat: Chat; tab: Tab }> {
  const chat = await chatIn(setting, { script: [slowly("One ", "two ", "three."), ...rest] });
  const tab = await chat.open();
  await tab.send("Count.");
  await tab.shows("user: Count.", "assistant: One ");
  return { chat, tab };
}

export const SCENARIOS: readonly Scenario[] = [
  {
    name: "1 words appear as they come",
    isForSdk: true,
    async run(setting) {
      const { chat, tab } = await answering(setting);
      chat.clock.pass(1);
      await tab.shows("user: Count.", "assistant: One two ");
      chat.clock.pass(1);
      await tab.shows("user: Count.", "assistant: One two three.");
      await tab.isReady();
      await tab.isSameAfterReload();
    },
  },
  {
    name: "2 a tool loop shows call, input, output and text in order",
    isForSdk: true,
    async run(setting) {
      const { finish, tools } = slowTool();
      const script = [{ text: "Let me see.", calls: [{ name: "look", arguments: { at: "sky" } }] }, "It is blue."];
      const chat = await chatIn(setting, { script, tools });
      const tab = await chat.open();
      await tab.send("Look.");
      await tab.shows("user: Look.", 'assistant: Let me see. | look {"at":"sky"} input-available');
      finish();
      const done = 'assistant: Let me see. | look {"at":"sky"} output-available "blue" | It is blue.';
      await tab.shows("user: Look.", done);
      await tab.isReady();
      await tab.isSameAfterReload();
    },
  },
  {
    name: "3 after a stop no word follows, and the partial answer stays and is marked",
    isForSdk: true,
    async run(setting) {
      const { chat, tab } = await answering(setting);
      await tab.click("#stop");
      await tab.isReady();
      await expect
        .poll(async () => (await chat.host.store.list()).threads[0]?.status, { interval: 20 })
        .toBe("cancelled");
      chat.clock.pass(5);
      await tab.reload();
      await tab.shows("user: Count.", "assistant: One ");
      expect(await tab.mark()).toBe("cancelled");
      await tab.isSameAfterReload();
    },
  },
  {
    name: "4 a message right after a stop gets a new answer, and the model is shown the partial one",
    async run(setting) {
      const expected = [
        { role: "assistant", text: /One/ },
        { role: "user", text: "Go on." },
      ] as const;
      const { tab } = await answering(setting, { expect: { endsWith: expected }, text: "Four." });
      await tab.click("#stop");
      await tab.send("Go on.");
      await tab.shows("user: Count.", "assistant: One ", "user: Go on.", "assistant: Four.");
      await tab.isReady();
      await tab.isSameAfterReload();
    },
  },
  {
    name: "5 a reload in mid-answer misses and doubles no word",
    isForSdk: true,
    async run(setting) {
      const { chat, tab } = await answering(setting);
      await tab.reload();
      await tab.shows("user: Count.", "assistant: One ");
      chat.clock.pass(2);
      await tab.shows("user: Count.", "assistant: One two three.");
      await tab.isReady();
      await tab.isSameAfterReload();
    },
  },
  {
    name: "6 a reload while a tool runs: it runs once, and its result appears",
    isForSdk: true,
    async run(setting) {
      const { runs, finish, tools } = slowTool();
      const chat = await chatIn(setting, { script: [{ calls: [{ name: "look" }] }, "It is blue."], tools });
      const tab = await chat.open();
      await tab.send("Look.");
      await tab.shows("user: Look.", "assistant: look {} input-available");
      await tab.reload();
      await tab.shows("user: Look.", "assistant: look {} input-available");
      finish();
      await tab.shows("user: Look.", 'assistant: look {} output-available "blue" | It is blue.');
      await tab.isReady();
      expect(runs.length).toBe(1);
      await tab.isSameAfterReload();
    },
  },
  {
    name: "7 a reload after the end shows equal messages, byte for byte",
    isForSdk: true,
    async run(setting) {
      const look = { inputSchema: anything, execute: () => ({ color: "blue" }) };
      const script = [{ thinking: "Where?", text: "Let me see.", calls: [{ name: "look" }] }, "It is blue.", "Yes."];
      const chat = await chatIn(setting, { script, tools: { look } });
      const tab = await chat.open();
      await say(tab, "Look.");
      await say(tab, "Sure?");
      await tab.isSameAfterReload();
    },
  },
  {
    name: "8 an approved tool runs once, and the answer follows",
    isForSdk: true,
    async run(setting) {
      const { tab, runs } = await askedToPay(setting);
      await tab.click(".approve");
      await tab.shows("user: Pay.", PAID);
      await tab.isReady();
      expect(runs).toEqual([{ eur: 5 }]);
      await tab.isSameAfterReload();
    },
  },
  {
    name: "9 a denied tool never runs, and the model is shown the reason",
    isForSdk: true,
    async run(setting) {
      const isShown = { where: (request: unknown) => JSON.stringify(request).includes("Too much.") };
      const { tab, runs } = await askedToPay(setting, { expect: isShown, text: "Not paid." });
      await tab.page.type("#words", "Too much.");
      await tab.click(".deny");
      await tab.shows("user: Pay.", 'assistant: pay {"eur":5} output-denied because Too much. | Not paid.');
      await tab.isReady();
      expect(runs).toEqual([]);
      await tab.isSameAfterReload();
    },
  },
  {
    name: "10 an approval after a reload",
    isForSdk: true,
    async run(setting) {
      const { tab, runs } = await askedToPay(setting);
      await tab.reload();
      await tab.click(".approve");
      await tab.shows("user: Pay.", PAID);
      await tab.isReady();
      expect(runs.length).toBe(1);
      await tab.isSameAfterReload();
    },
  },
  {
    name: "11 an approval in another tab: both show decision and answer",
    async run(setting) {
      const { chat, tab, runs } = await askedToPay(setting);
      const other = await chat.open();
      await other.click(".approve");
      for (const one of [other, tab]) {
        await one.shows("user: Pay.", PAID);
        await one.isReady();
      }
      expect(runs.length).toBe(1);
      await tab.isSameAfterReload();
    },
  },
  {
    name: "12 words while an approval is open deny it, and the model answers them",
    async run(setting) {
      const isShown = { where: (request: unknown) => JSON.stringify(request).includes("Too much!") };
      const { tab, runs } = await askedToPay(setting, { expect: isShown, text: "Not paid." });
      await tab.send("Too much!");
      await tab.shows("user: Pay.", 'assistant: pay {"eur":5} output-denied because Too much! | Not paid.');
      await tab.isReady();
      expect(runs).toEqual([]);
      await tab.isSameAfterReload();
    },
  },
  {
    name: "13 words while it answers are taken at the next step of the same request",
    async run(setting) {
      const { finish, tools } = slowTool();
      const script = [{ calls: [{ name: "look" }] }, { expect: { lastUser: "Only the sky." }, text: "Blue." }];
      const chat = await chatIn(setting, { script, tools });
      const tab = await chat.open();
      await tab.send("Look.");
      await tab.shows("user: Look.", "assistant: look {} input-available");
      await tab.send("Only the sky.");
      await expect.poll(async () => (await chat.host.pending("t")).length, { interval: 20 }).toBe(1);
      finish();
      await tab.shows("user: Look.", 'assistant: look {} output-available "blue" | (Only the sky.) | Blue.');
      await tab.isReady();
      await tab.isSameAfterReload();
    },
  },
  {
    name: "14 a double send is one ask",
    async run(setting) {
      const chat = await chatIn(setting, { script: ["Four."] });
      const tab = await chat.open();
      await tab.send("2+2?", { clicks: 2 });
      await expect.poll(() => tab.shown(), { interval: 20 }).toContain("user: 2+2?");
      await tab.repeat();
      await tab.shows("user: 2+2?", "assistant: Four.");
      await tab.isReady();
      expect(chat.model.requests.length).toBe(1);
      await tab.isSameAfterReload();
    },
  },
  {
    name: "15 an edit of the last message is a sibling, and the model is shown the new words only",
    async run(setting) {
      const isAlone = { messages: [{ role: "user", text: "3+3?" }] } as const;
      const chat = await chatIn(setting, { script: ["Four.", { expect: isAlone, text: "Six." }] });
      const tab = await chat.open();
      await say(tab, "2+2?");
      await tab.edit(1, "3+3?");
      await tab.shows("user: 3+3? [2 of 2]", "assistant: Six.");
      await tab.isReady();
      await tab.isSameAfterReload();
    },
  },
  {
    name: "16 an edit of an early message: what followed is on the old branch",
    async run(setting) {
      const chat = await chatIn(setting, { script: ["Four.", "Five.", "Six."] });
      const tab = await chat.open();
      await say(tab, "2+2?");
      await say(tab, "2+3?");
      await tab.edit(1, "3+3?");
      await tab.shows("user: 3+3? [2 of 2]", "assistant: Six.");
      await tab.isReady();
      await tab.isSameAfterReload();
      await tab.click("#messages > li:nth-child(1) .previous");
      await tab.shows("user: 2+2? [1 of 2]", "assistant: Four.", "user: 2+3?", "assistant: Five.");
    },
  },
  {
    name: "17 a regenerated answer is a sibling, and the old one can be chosen",
    async run(setting) {
      const chat = await chatIn(setting, { script: ["Heads.", "Tails."] });
      const tab = await chat.open();
      await say(tab, "Toss.");
      await tab.click("#messages > li:nth-child(2) .regenerate");
      await tab.shows("user: Toss.", "assistant: Tails. [2 of 2]");
      await tab.isReady();
      await tab.click("#messages > li:nth-child(2) .previous");
      await tab.shows("user: Toss.", "assistant: Heads. [1 of 2]");
      await tab.isSameAfterReload();
    },
  },
  {
    name: "18 an ask after a switch joins the branch of the message before it",
    async run(setting) {
      const followed = [{ text: "Toss." }, { text: "Heads." }, { text: "And now?" }];
      const script = ["Heads.", "Tails.", { expect: { messages: followed }, text: "Edge." }];
      const chat = await chatIn(setting, { script });
      const tab = await chat.open();
      await say(tab, "Toss.");
      await tab.click("#messages > li:nth-child(2) .regenerate");
      await tab.shows("user: Toss.", "assistant: Tails. [2 of 2]");
      await tab.isReady();
      await tab.click("#messages > li:nth-child(2) .previous");
      await tab.shows("user: Toss.", "assistant: Heads. [1 of 2]");
      await tab.send("And now?");
      await tab.shows("user: Toss.", "assistant: Heads. [1 of 2]", "user: And now?", "assistant: Edge.");
      await tab.isReady();
      await tab.isSameAfterReload();
    },
  },
  {
    name: "19 a second tab follows live, without a reload",
    async run(setting) {
      const chat = await chatIn(setting, { script: [slowly("One ", "two.")] });
      const tab = await chat.open();
      const other = await chat.open();
      await tab.send("Count.");
      for (const one of [tab, other]) await one.shows("user: Count.", "assistant: One ");
      chat.clock.pass(1);
      for (const one of [tab, other]) {
        await one.shows("user: Count.", "assistant: One two.");
        await one.isReady();
      }
      await other.isAsLoaded();
      await tab.isSameAfterReload();
    },
  },
  {
    name: "20 an attached picture is shown after a reload, and the model got the bytes",
    isForSdk: true,
    async run(setting) {
      const file = join(fastFolder(), "dot.png");
      writeFileSync(file, Buffer.from(DOT, "base64"));
      const hasBytes = { where: (request: unknown) => JSON.stringify(request).includes(DOT.slice(0, 40)) };
      const chat = await chatIn(setting, { script: [{ expect: hasBytes, text: "A dot." }] });
      const tab = await chat.open();
      await tab.attach(file);
      await say(tab, "What is it?");
      await tab.shows("user: What is it?", "assistant: A dot.");
      expect(await tab.pictures()).toEqual(["dot.png 1x1"]);
      await tab.isSameAfterReload();
      expect(await tab.pictures()).toEqual(["dot.png 1x1"]);
    },
  },
  {
    name: "21 metadata and data parts are equal after a reload",
    isForSdk: true,
    async run(setting) {
      const metadata = ({ status, usage }: UIRequestFacts) => ({ status, tokens: usage.outputTokens });
      const chat = await chatIn(setting, { script: ["Hello."], stream: { metadata }, query: "&metadata" });
      const tab = await chat.open();
      await say(tab, "Hi.");
      const expected = [
        { metadata: { sentFrom: "page" }, data: [{ city: "Oslo" }] },
        { metadata: { status: "completed", tokens: 2 }, data: [] },
      ];
      expect(await detailsIn(tab)).toEqual(expected);
      await tab.isSameAfterReload();
      expect(await detailsIn(tab)).toEqual(expected);
    },
  },
  {
    name: "22 preliminary output of a tool appears while it runs, and after a reload the result",
    isForSdk: true,
    async run(setting) {
      const more = Promise.withResolvers<void>();
      const look = {
        inputSchema: anything,
        async *execute() {
          yield "half";
          await more.promise;
          yield "whole";
        },
      };
      const chat = await chatIn(setting, { script: [{ calls: [{ name: "look" }] }, "Seen."], tools: { look } });
      const tab = await chat.open();
      await tab.send("Look.");
      await tab.shows("user: Look.", 'assistant: look {} output-available "half"');
      more.resolve();
      await tab.shows("user: Look.", 'assistant: look {} output-available "whole" | Seen.');
      await tab.isReady();
      await tab.isSameAfterReload();
    },
  },
  {
    name: "23 after kill -9 in mid-answer and a restart the page connects by itself: one whole answer",
    hasOwnServer: true,
    run: (setting) => endsInMidAnswer(setting, "SIGKILL"),
  },
  {
    name: "24 after SIGTERM in mid-answer and a restart the page connects by itself: one whole answer",
    hasOwnServer: true,
    run: (setting) => endsInMidAnswer(setting, "SIGTERM"),
  },
  {
    name: "25 a provider error shows its reason, and after a retry there are one answer and one question",
    isForSdk: true,
    async run(setting) {
      const failed = { error: { status: 400, message: "The model is asleep." } };
      const stream = { onError: ({ message }: { readonly message: string }) => message };
      const chat = await chatIn(setting, { script: [failed, "Four."], stream });
      const tab = await chat.open();
      await tab.send("2+2?");
      await expect.poll(() => tab.text("#error"), { interval: 20 }).toContain("refused the request");
      await tab.click("#retry");
      await expect
        .poll(() => tab.shown(), { interval: 20 })
        .toMatch(setting.isOfSdk ? /^user: 2\+2\?\nassistant: Four\./ : /^user: 2\+2\?\nassistant: Four\. \[2 of 2\]$/);
      await tab.isReady();
      await tab.isSameAfterReload();
    },
  },
];

/** A page with AI SDK 6 cannot discard the words of a step, so it shows one answer after a reload. */
async function endsInMidAnswer(setting: Setting, signal: "SIGKILL" | "SIGTERM"): Promise<void> {
  const server = await serverProcess(setting);
  const tab = await server.open();
  await tab.send("Count.");
  await tab.shows("user: Count.", "assistant: One ");
  await server.end(signal);
  await server.restart();
  if (setting.client === 6) {
    await expect.poll(() => tab.shown(), { interval: 20 }).toMatch(/One two\.$/);
    await tab.isReady();
    await tab.reload();
  }
  await tab.shows("user: Count.", "assistant: One two.");
  await tab.isReady();
  await tab.isSameAfterReload();
}

const DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
