import { appendFileSync, copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { resumeTokens } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { describe, expect, test } from "vitest";
import { COMMANDS } from "../../src/cli/commands.ts";
import { fastFolder } from "../support/temp-folder.ts";
import { type FakeOptions, run } from "./support/fake-io.ts";

/** Letters that are seen of a line. */
function printed(shown: string): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colors begin with one
  return (shown.split("\n")[0] ?? "").replaceAll(/\u001b\[\d*[mK]/g, "").length;
}

/** A folder with a store in which something was asked. */
async function asked(...texts: readonly string[]): Promise<string> {
  const cwd = fastFolder();
  for (const [index, text] of texts.entries()) {
    await run(["ask", ...(index > 0 ? ["-t", "last"] : []), text], { cwd });
  }
  return cwd;
}

async function jsonOf(args: readonly string[], options: FakeOptions) {
  const { code, stdout, stderr } = await run([...args, "--json"], options);
  expect(code, stderr).toBe(0);
  expect(stdout.trim().split("\n")).toHaveLength(1);
  return JSON.parse(stdout);
}

describe("usage", () => {
  const wrong: readonly (readonly [readonly string[], RegExp])[] = [
    [["frok"], /Did you mean heddle fork/],
    [["ask", "--polcy", "short", "hi"], /Did you mean --policy/],
    [["ask", "--policy"], /--policy needs a value/],
    [["ask", "--policy", "nonsense", "hi"], /--policy must be/],
    [["show"], /<thread> is missing/],
    [["fork", "a", "b"], /one argument too many/],
    [["show", "last", "--from", "-1"], /--from/],
    [["show", "last", "--from", "2", "--to", "1"], /--from 2 comes after --to 1/],
    [["show", "last", "--json=yes"], /--json takes no value/],
    [["threads", "--order", "udpated"], /Did you mean updated/],
    [["threads", "--store", "nonsense"], /A store URL is .*write "sqlite:nonsense"/],
    [["threads", "--server", "nonsense"], /--server must be/],
    [["threads", "--server", "http://127.0.0.1:1", "--store", "memory:"], /not both/],
    [["rebuild", "last", "--provider", "antropic"], /Did you mean anthropic/],
    [["steer", "last", "hi", "--kind", "inject"], /--source/],
    [["studio", "--port", "99999"], /--port/],
    [["ask", ""], /The text is empty/],
    [["import", "-"], /nothing to import/],
    [["threads", "--since", "yesterday"], /--since must be a date/],
    [["threads", "--status", "compleed"], /Did you mean completed/],
    [["calls", "last", "--limit", "0"], /--limit must be a whole number from 1/],
    [["ask", "--agent", "none.ts", "hi"], /cannot be loaded/],
  ];
  test.for(wrong)("heddle %j ends with 2 and says what is wrong", async ([args, message]) => {
    const { code, stdout, stderr } = await run(args, { cwd: await asked("What is 1 + 1?") });
    expect({ code, stdout }, stderr).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(message);
  });

  test("no command at all shows the help, --version the version", async () => {
    const cwd = fastFolder();
    const { stdout } = await run([], { cwd });
    for (const { summary } of COMMANDS) expect(stdout).toContain(summary);
    expect((await run(["--version"], { cwd })).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect((await run(["help", "ask"], { cwd })).stdout).toContain("heddle ask");
  });

  test("an error is JSON too where JSON is asked for, on stderr", async () => {
    const { code, stdout, stderr } = await run(["show", "nope", "--json"], { cwd: await asked("What is 1 + 1?") });
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: "thread_not_found" } });
  });
});

describe("looking", () => {
  test("show lists the asks that wait in the inbox, also of a thread without entries", async () => {
    const cwd = await asked("What is 1 + 1?");
    const { threads } = await jsonOf(["threads"], { cwd });
    const store = sqliteStore(join(cwd, "heddle.db"));
    for (const id of ["new", threads[0].id]) await store.post(id, { id: "r2", type: "ask", content: "And 2 + 2?" });
    await store.close();
    const waits = /^waiting ask 2\d{3}-\S+ \S+ · r2\n {2}And 2 \+ 2\?\n$/m;
    for (const id of ["new", threads[0].id]) {
      const { code, stdout } = await run(["show", id], { cwd });
      expect([code, stdout]).toEqual([0, expect.stringMatching(waits)]);
      expect((await jsonOf(["show", id], { cwd })).waiting).toMatchObject([{ id: "r2", type: "ask" }]);
    }
    expect((await run(["show", threads[0].id, "--kind", "ai_message"], { cwd })).stdout).not.toMatch(waits);
    expect((await run(["show", "none"], { cwd })).stderr).toContain("none");
  });

  test("threads, show, calls, rebuild, context and diff each give one JSON object", async () => {
    const cwd = await asked("What is (17 + 25) * 3?", "And times 3?");
    const { threads } = await jsonOf(["threads"], { cwd });
    expect(threads).toMatchObject([{ title: "What is (17 + 25) * 3?", status: "completed", rev: 8 }]);
    const { entries } = await jsonOf(["show", threads[0].id, "--from", "0", "--to", "1"], { cwd });
    expect(entries.map(({ seq }: { seq: number }) => seq)).toEqual([0, 1]);
    const { calls } = await jsonOf(["calls", "last"], { cwd });
    expect(calls).toHaveLength(4);
    const rebuilt = await jsonOf(["rebuild", "last", calls[1].callId], { cwd });
    expect(rebuilt).toMatchObject({ proven: true, record: { fingerprint: calls[1].fingerprint } });
    const now = await jsonOf(["context", "last", "--at", String(calls[1].seq - 1)], { cwd });
    expect(now.messages, "what is projected at that moment is what the call was sent").toEqual(rebuilt.messages);
    expect(now.meta.fingerprint).toBe(calls[1].fingerprint);
    const { changes, causes } = await jsonOf(["diff", "last"], { cwd });
    expect(changes.filter(({ kind }: { kind: string }) => kind !== "same")).toHaveLength(2);
    expect(causes).toMatchObject([{ rule: "appended" }]);
  });

  test("calls, rebuild and context say where the tokens go, and what a cache can hold of them", async () => {
    const cwd = await asked("What is (17 + 25) * 3?", "And times 3?");
    const { calls } = await jsonOf(["calls", "last", "--explain"], { cwd });
    for (const [index, call] of calls.entries()) {
      const { system, tools, summary, history, pending } = call.budget;
      expect(system + tools + summary + history + pending).toBe(call.estimatedTokens);
      const before = calls[index + 1];
      expect(call.prefixTokens, "all that was sent before").toBe(before?.estimatedTokens ?? 0);
    }
    const rebuilt = await run(["rebuild", "last"], { cwd });
    expect(rebuilt.stdout.match(/ · new$/gm)).toHaveLength(2);
    expect(rebuilt.stderr).toMatch(/^proven: \S+\n[\d,]+ of 3,200 tokens · system \d+, tools \d+, summary 0, /);
    expect(rebuilt.stderr).toMatch(/reported \d+, of those from the cache 0/);
    expect(rebuilt.stderr).toMatch(
      /same prefix as the call before: \d+ of \d+ messages, \d+ tokens, the whole call before/,
    );
    const tight = '{"maxInputTokens":500,"reserveOutputTokens":100,"keepLastTurns":0}';
    const { stderr } = await run(["context", "last", "--policy", tight], { cwd });
    expect(stderr).toMatch(/of 400 tokens[\s\S]*of 8 entries shown · cut before entry \d/);
  });

  test("rebuild names the settings that held for the call, and who set them", async () => {
    const cwd = await asked("What is 1 + 1?");
    const { threadId, calls } = await jsonOf(["calls", "last"], { cwd });
    expect((await run(["rebuild", "last"], { cwd })).stderr).not.toContain("set by entry");
    const [file = ""] = readdirSync(cwd, { recursive: true })
      .map(String)
      .filter((name) => name.endsWith(".db"));
    const store = sqliteStore(join(cwd, file));
    const setting = { type: "system_prompt", value: "Be brief." };
    await store.append(threadId, { kind: "ai_setting", payload: { opId: "1", by: "ann", setting } });
    await store.close();
    await run(["ask", "-t", "last", "And times 3?"], { cwd });
    const { stderr } = await run(["rebuild", "last"], { cwd });
    expect(stderr).toContain(`set by entry ${calls[0].seq + 1}: system prompt "Be brief." · by ann`);
  });

  test("what moved the prefix is named", async () => {
    const cwd = await asked("What is 1 + 1?", "And times 3?", "And plus 4?");
    await run(["ask", "-t", "last", "--policy", '{"maxTurns":1}', "And times 2?"], { cwd });
    const { calls } = await jsonOf(["calls", "last", "--explain"], { cwd });
    expect(calls[0].previous.firstChange).toMatchObject({ rule: "window_moved" });
    expect((await run(["calls", "last", "--explain"], { cwd })).stdout).toMatch(/ \[1\] window_moved: The window/);
    expect((await run(["rebuild", "last"], { cwd })).stderr).toMatch(/moved at \[1\] by window_moved/);
  });

  test("two policies: what became of which entries, what each comes to, or that nothing differs", async () => {
    const cwd = await asked("What is 1 + 1?", "And times 3?");
    const other = await run(["diff", "last", "--policy", '{"maxTurns":1}'], { cwd });
    expect(other.stdout).toMatch(/^before_window: entries 0 to 3: shown by the old policy, cut by the new\.$/m);
    expect(other.stderr).toMatch(/^- [\d,]+ of 3,200 tokens.*\n\+ [\d,]+ of 6,000 tokens/m);
    const same = await run(["diff", "last", "--policy", "default", "--policy", "default"], { cwd });
    expect(same.stderr).toContain("Nothing differs.");
  });

  test("a search that finds nothing, and a window without entries, say so and no more", async () => {
    const cwd = await asked("What is 1 + 1?");
    expect((await run(["threads", "--search", "zebra"], { cwd })).stderr).toBe("No thread matches.\n");
    expect((await run(["show", "last", "--from", "99"], { cwd })).stderr).toMatch(
      /4 earlier[\s\S]*no such entry from 99 on: the thread ends at 3/,
    );
    expect((await run(["show", "last", "--kind", "zebra"], { cwd })).stderr).toMatch(/no such entry from 0 to 3/);
  });

  test("a search finds the thread of a request, a model call, and the key that a tool gave to a service", async () => {
    const cwd = await asked("What is 1 + 1?");
    await run(["ask", "What is 2 + 2?"], { cwd });
    const { id } = (await jsonOf(["threads", "--search", "1 + 1"], { cwd })).threads[0];
    const { entries } = await jsonOf(["show", id], { cwd });
    const { callId, requestId } = entries[1].refs;
    for (const search of [callId, requestId, `${callId}.call_1`])
      expect((await jsonOf(["threads", "--search", search], { cwd })).threads, search).toMatchObject([{ id }]);
    expect((await jsonOf(["threads", "--search", `${callId}0`], { cwd })).threads).toEqual([]);
  });

  test("another policy is tried without a change, and the difference printed", async () => {
    const cwd = await asked("What is 1 + 1?", "And times 3?");
    const before = await jsonOf(["show", "last", "--all"], { cwd });
    const { code, stdout } = await run(["diff", "last", "--policy", '{"maxTurns":1}'], { cwd });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^- \[1\] user: What is 1 \+ 1\?$/m);
    const { explained } = await jsonOf(["context", "last", "--policy", '{"maxTurns":1}', "--explain"], { cwd });
    expect(explained[0]).toMatchObject({ status: "cut" });
    expect(await jsonOf(["show", "last", "--all"], { cwd })).toEqual(before);
  });

  test("without the last call's prompt and tools there are only the messages", async () => {
    const cwd = await asked("What is 1 + 1?");
    const view = await jsonOf(["context", "last", "--bare"], { cwd });
    expect(view.messages[0]).toMatchObject({ role: "user" });
    expect(view.toolSpec).toEqual([]);
    const other = await jsonOf(["context", "last", "--system", "Be brief."], { cwd });
    expect(other.messages[0]).toEqual({ role: "system", content: "Be brief." });
  });

  test("a thread that was taken in and never asked has a context too", async () => {
    const cwd = fastFolder();
    writeFileSync(join(cwd, "list.json"), JSON.stringify([{ role: "user", content: "Hello" }]));
    const { code } = await run(["import", "list.json", "--format", "neutral"], { cwd });
    expect(code).toBe(0);
    const { messages } = await jsonOf(["context", "last"], { cwd });
    expect(messages).toEqual([{ role: "user", content: "Hello" }]);
    expect(await run(["rebuild", "last"], { cwd })).toMatchObject({ code: 3 });
    expect(await run(["diff", "last"], { cwd })).toMatchObject({ code: 3 });
  });

  test("verify names the thread whose bytes were changed, and ends with 1", async () => {
    const cwd = await asked("What is 1 + 1?");
    await run(["ask", "What is 2 + 2?"], { cwd });
    expect(await jsonOf(["verify", "--calls"], { cwd })).toMatchObject({
      ok: true,
      threads: [{ calls: { proven: 2 } }, { ok: true }],
    });
    const file = new DatabaseSync(join(cwd, "heddle.db"));
    const changed = file
      .prepare(
        "UPDATE entries SET payload = replace(payload, '2 + 2', '2 + 3') WHERE payload LIKE '%2 + 2%' AND seq = 0",
      )
      .run();
    file.close();
    expect(changed.changes).toBe(1);
    const { code, stdout } = await run(["verify"], { cwd });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^ok .*\nbad .*entry 0: /m);
  });
});

describe("acting", () => {
  test("an ask that is refused leaves no thread behind, and one that is called wrongly no store", async () => {
    const cwd = fastFolder();
    expect(await run(["ask", "--policy", "nonsense", "hi"], { cwd })).toMatchObject({ code: 2 });
    expect(await run(["threads"], { cwd })).toMatchObject({ code: 3 });
    expect((await run(["ask", "--tool", "nonsense", "hi"], { cwd })).code).toBeGreaterThan(0);
    expect((await jsonOf(["threads"], { cwd })).threads).toEqual([]);
  });

  test("at a terminal an approval is asked about, and the answer decides", async () => {
    const cwd = fastFolder();
    const yes = await run(["ask", "Send 20 euros to Ada."], { cwd, answers: ["y"] });
    expect(yes).toMatchObject({ code: 0, stdout: expect.stringContaining("Done: 20 euros") });
    const no = await run(["ask", "Send 20 euros to Ada."], { cwd, answers: ["n"] });
    expect(no).toMatchObject({ code: 0, stdout: expect.stringContaining("Nothing was sent") });
    const later = await run(["ask", "Send 20 euros to Ada."], { cwd, answers: [undefined] });
    expect(later).toMatchObject({ code: 4, stderr: expect.stringContaining("heddle approve") });
    const never = await run(["ask", "--no-input", "Send 20 euros to Ada."], { cwd, answers: ["y"] });
    expect(never).toMatchObject({ code: 4, stdout: "" });
    const json = await run(["ask", "--json", "Send 20 euros to Ada."], { cwd });
    expect(JSON.parse(json.stdout.trim().split("\n").at(-1) ?? "")).toMatchObject({
      kind: "waiting",
      waiting: [{ name: "send_money" }],
    });
  });

  test("a waiting call is approved with other arguments, and a rule decides later calls of the thread", async () => {
    const cwd = await asked("Send 20 euros to Ada.");
    expect(await run(["approve", "last", "--arguments", "{"], { cwd })).toMatchObject({ code: 2 });
    expect(await run(["approve", "last", "--remember", "always"], { cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--remember must be request, lane, thread"),
    });
    expect(await run(["deny", "last", "--arguments", "{}"], { cwd })).toMatchObject({ code: 2 });
    const edited = ["--arguments", '{"to":"Bob","euros":5}', "--remember", "thread"];
    expect(await run(["approve", "last", ...edited], { cwd })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("Done:"),
    });
    expect((await run(["show", "last"], { cwd })).stdout).toContain("Bob");
    const { id } = (await jsonOf(["threads"], { cwd })).threads[0];
    expect(await run(["ask", "--thread", id, "Send 7 euros to Eve."], { cwd })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("Done: 7 euros"),
    });
  });

  test("a waiting call is refused or cancelled by another command; if nothing waits, that is reported", async () => {
    const cwd = await asked("Send 20 euros to Ada.");
    expect(await run(["deny", "last", "--reason", "no"], { cwd })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("Nothing was sent"),
    });
    expect(await run(["deny", "last"], { cwd })).toMatchObject({
      code: 4,
      stderr: expect.stringContaining("No such call waits"),
    });
    await run(["ask", "Send 5 euros to Bob."], { cwd });
    expect(await run(["cancel", "last"], { cwd })).toMatchObject({ code: 0 });
    expect(await run(["cancel", "last"], { cwd })).toMatchObject({ code: 4 });
    expect((await jsonOf(["threads", "--status", "cancelled"], { cwd })).threads).toHaveLength(1);
  });

  test("an interrupt cancels what is asked, and the exit code says so", async () => {
    const cwd = fastFolder();
    const { code } = await run(["ask", "Add up the numbers from 1 to 90, one call at a time."], {
      cwd,
      env: { HEDDLE_DEMO_WORD_MS: "1" },
      onWrite: (text, interrupt) => text.startsWith("← 1\n") && interrupt(),
    });
    expect(code).toBe(130);
    expect((await jsonOf(["threads"], { cwd })).threads).toMatchObject([{ status: "cancelled" }]);
    expect(await run(["verify", "--calls"], { cwd })).toMatchObject({ code: 0 });
  });

  test("a reader that stops reading an answer does not stop it", async () => {
    const cwd = fastFolder();
    const { code, stdout } = await run(["ask", "Tell me the history of weaving."], { cwd, breaksAfter: 1 });
    expect(code).toBe(0);
    const { entries } = await jsonOf(["show", "last"], { cwd });
    expect(entries.at(-1).payload.content.length).toBeGreaterThan(stdout.length);
    expect(await run(["show", "last"], { cwd, breaksAfter: 1 })).toMatchObject({ code: 0 });
    const asked = await run(["ask", "Which costs more, 3 lamps or 11 books?"], { cwd, breaksAfter: 0 });
    expect(asked.stderr, "the talk goes on").toContain("calculator");
  });

  test("a chat asks line by line, in one thread", async () => {
    const cwd = fastFolder();
    const piped = await run(["chat"], { cwd, stdin: "What is 6 * 7?\n\nAnd times 2?\n" });
    expect(piped).toMatchObject({ code: 0, stdout: "6 * 7 is **42**.\nThat makes **84**.\n" });
    const typed = await run(["chat", "-t", "last"], { cwd, answers: ["And plus 1?", ""] });
    expect(typed).toMatchObject({ code: 0, stdout: "That makes **85**.\n" });
    expect((await jsonOf(["threads"], { cwd })).threads).toHaveLength(1);
  });

  test("a fork shares the past and goes its own way; a summary is written to stdout", async () => {
    const cwd = await asked("What is 1 + 1?", "And times 3?", "And plus 4?");
    const { stdout: summary } = await run(["summarize", "last", "--to", "3"], { cwd });
    expect(summary).toContain("1 + 1");
    const { stdout } = await run(["fork", "last", "--at", "3"], { cwd });
    const id = stdout.trim();
    const fork = await jsonOf(["show", id], { cwd });
    expect(fork).toMatchObject({ thread: { forkSeq: 3, rev: 4, status: "completed" } });
    expect(await run(["ask", "-t", id, "And times 5?"], { cwd })).toMatchObject({
      code: 0,
      stdout: "That makes **10**.\n",
    });
  });

  test("an agent without the tools of a thread does not continue it", async () => {
    const cwd = await asked("Send 20 euros to Ada.");
    const file = new URL("../../src/agent/definition/define-agent.ts", import.meta.url).href;
    const demo = new URL("../../src/studio/demo/demo-model.ts", import.meta.url).href;
    writeFileSync(
      join(cwd, "other.ts"),
      `import { defineAgent } from ${JSON.stringify(file)};\nimport { demoModel } from ${JSON.stringify(demo)};\nexport const other = defineAgent({ name: "other", model: demoModel({ wordMs: 0 }) });\n`,
    );
    const { code, stderr } = await run(["approve", "last", "--agent", "other.ts"], { cwd });
    expect({ code, stderr }).toMatchObject({ code: 4, stderr: expect.stringContaining("has no tool send_money") });
    expect((await jsonOf(["threads", "--status", "waiting"], { cwd })).threads).toHaveLength(1);
  });
});

describe("moving", () => {
  test("what is exported comes in again elsewhere, and its calls are proven there", async () => {
    const cwd = await asked("What is 1 + 1?", "And times 3?");
    for (const format of ["json", "jsonl"]) {
      const file = `thread.${format}`;
      expect(await jsonOf(["export", "last", "-o", file], { cwd })).toMatchObject({ format, entries: 8 });
      const elsewhere = { cwd, env: { HEDDLE_STORE: `sqlite:./${format}.db` } };
      expect(await run(["import", file], elsewhere)).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^thread_\S+\n$/),
      });
      expect(await jsonOf(["verify", "--calls"], elsewhere)).toMatchObject({
        ok: true,
        threads: [{ calls: { proven: 4 } }],
      });
    }
    const [{ id }] = (await jsonOf(["threads"], { cwd })).threads;
    expect(await jsonOf(["import", "thread.json"], { cwd }), "the id is taken").not.toMatchObject({ id });
    const { stdout } = await run(["export", "last"], { cwd });
    expect(
      stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line))[0],
    ).toMatchObject({ format: "heddle.thread/1" });
    await run(["export", "last", "-o", "page.html"], { cwd });
    expect(readFileSync(join(cwd, "page.html"), "utf8")).toContain("heddle-data");
  });

  test("a long thread is taken in in batches, with a bar that only a terminal sees", async () => {
    const cwd = fastFolder();
    const many = Array.from({ length: 5001 }, (_, index) => ({
      role: index % 2 === 0 ? "user" : "assistant",
      content: `line ${index}`,
    }));
    writeFileSync(join(cwd, "many.json"), JSON.stringify(many));
    let time = 0;
    const terminal = { cwd, isTerminal: true, now: () => (time += 1000) };
    const { code, stderr } = await run(["import", "many.json", "--format", "neutral"], terminal);
    expect(code).toBe(0);
    expect(stderr).toContain("importing");
    const piped = await run(["export", "last", "-o", "many.jsonl"], { cwd });
    expect(piped.stderr).toBe("5,001 entries written to many.jsonl.\n");
    expect((await run(["export", "last", "-o", "many.jsonl"], terminal)).stderr).toContain("exporting");
    expect((await run(["verify"], terminal)).stderr, "inside the one thread").toMatch(/verifying \S+ 3,000 of 5,001/);
    for (const columns of [36, 20, 8]) {
      const narrow = await run(["verify"], { ...terminal, columns });
      expect(narrow.code, narrow.stderr).toBe(0);
      const drawn = narrow.stderr.split("\r").filter((shown) => shown.includes("verif") && !shown.includes("verified"));
      for (const shown of drawn) expect(printed(shown)).toBeLessThan(columns);
    }
    expect((await run(["fork", "last"], terminal)).stderr).toMatch(/forking . \d+ s/);
    expect((await run(["verify", "-q"], terminal)).stderr).toBe("");
    const { entries } = await jsonOf(["show", "last", "--all"], { cwd });
    expect(entries).toHaveLength(5001);
    appendFileSync(join(cwd, "many.jsonl"), "{");
    expect(await run(["import", "many.jsonl"], { cwd })).toMatchObject({ code: 2 });
    mkdirSync(join(cwd, "taken.jsonl"));
    expect(await run(["export", "last", "-o", "taken.jsonl"], { cwd })).toMatchObject({ code: 1 });
    expect(readdirSync(cwd).filter((name) => name.endsWith(".part"))).toEqual([]);
    expect(await run(["export", "last", "-o", "none/such.jsonl"], { cwd })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("cannot be written"),
    });
  });
});

describe("token", () => {
  const secret = "0123456789abcdef0123456789abcdef";
  const state = {
    runId: "run_1",
    requestId: "req_1",
    phase: "after_tools",
    context: { said: "something private" },
    threadRef: { threadId: "thread_1", rev: 7 },
  } as const;

  test("says what a token says, without the secret, and shows nothing of what it carries", async () => {
    const cwd = fastFolder();
    const token = await resumeTokens.mint(state, {
      tokenSecret: secret,
      tokenTtlMs: 1000,
      configFingerprint: "agent-1",
      clock: () => 0,
    });
    const facts = await jsonOf(["token", token], { cwd });
    expect(facts).toMatchObject({
      phase: "after_tools",
      runId: "run_1",
      requestId: "req_1",
      expiresAt: 1000,
      expired: true,
      threadRef: { threadId: "thread_1", rev: 7 },
      signature: "not checked",
    });
    const { stdout, stderr } = await run(["token"], { cwd, stdin: `${token}\n`, env: { HEDDLE_TOKEN_SECRET: secret } });
    expect(stdout).toMatch(/signature\s+good/);
    expect(stdout + stderr).not.toMatch(/private|0123456789abcdef/);
  });

  test("another secret's token is bad, and a token that was cut is reported as such", async () => {
    const cwd = fastFolder();
    const token = await resumeTokens.mint(state, { tokenSecret: secret, tokenBind: "user_1" });
    const other = { cwd, env: { HEDDLE_TOKEN_SECRET: `${secret}!` } };
    expect(await run(["token", token], other)).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/signature\s+bad/),
    });
    expect(await run(["token", token, "--secret"], { cwd })).toMatchObject({ code: 1 });
    expect(await run(["token", token.slice(0, 40)], { cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("three parts"),
    });
    expect(await run(["token", "rt1.a.b"], { cwd })).toMatchObject({ code: 2 });
  });
});

test("the upgrade of a database is reported to stderr", async () => {
  const cwd = fastFolder();
  copyFileSync(new URL("../golden/sqlite-v1.db", import.meta.url), join(cwd, "heddle.db"));
  const { code, stdout, stderr } = await run(["threads", "--json"], { cwd });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toBeDefined();
  expect(stderr).toMatch(/^Upgrading the database to schema 2: \d+ entries, 0 %\n(.*\n)*.* 100 %\n$/);
  expect((await run(["threads", "--json"], { cwd })).stderr).toBe("");
});
