import { AgentHost, agentTool, defineAgent, defineTool, jsonSchema } from "heddle";
import { scriptedModel } from "heddle/testing";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { ask, atRest, chromium, NARROW, Stage, seriousViolations, shoot, shortcut, talk } from "./support/stage.ts";

describe.runIf(chromium)("Chat", () => {
  let stage: Stage;
  beforeEach(async () => {
    stage = await Stage.open({ wordMs: 4 });
  });
  afterEach(() => stage.close());

  test("a first-time visitor chats, gets a tool call, and opens the context of the call", async () => {
    const { page } = stage;
    await page.locator(".prompt").first().waitFor();
    await shoot(page, "start");
    expect(await seriousViolations(page)).toEqual([]);
    await page.locator(".prompt", { hasText: "(17 + 25) * 3" }).click();
    await page.locator(".tool", { hasText: "calculator" }).waitFor();
    await atRest(page);
    expect(await page.locator(".turn.assistant .markdown").last().textContent()).toContain("126");
    await page.locator(".tool").first().click();
    await shoot(page, "first-chat");
    expect(await seriousViolations(page)).toEqual([]);
    await page.locator(".foot-link", { hasText: "context of the call" }).last().click();
    await page.locator(".badge.proven").waitFor();
    expect(page.url()).toContain("/call/");
    await page.locator(".message").nth(3).waitFor();
    await shoot(page, "call-context");
    expect(await seriousViolations(page)).toEqual([]);
    expect(stage.complaints).toEqual([]);
  });

  test("two calls run in parallel and stand as two cards", async () => {
    const { page } = stage;
    await page.locator(".prompt", { hasText: "Oslo and Cairo" }).click();
    await page.locator(".tool").nth(1).waitFor();
    await shoot(page, "parallel-running");
    await atRest(page);
    expect(await page.locator(".tool-state.done").count()).toBe(2);
    await shoot(page, "parallel");
    expect(stage.complaints).toEqual([]);
  });

  test("what runs is steered, then cancelled, and the thread says both", async () => {
    const { page } = stage;
    await page.locator(".prompt", { hasText: "one call at a time" }).click();
    await page.locator(".tool").nth(2).waitFor();
    await ask(page, "Only the even ones, please.");
    await page.locator(".turn-kind", { hasText: "steer" }).waitFor();
    await shoot(page, "steered");
    await page.locator(".stop").waitFor({ state: "detached" }); // the demo model takes the steer for its new task
    await ask(page, "Add up the numbers from 1 to 30, one call at a time.");
    await page.locator(".tool-state.done").nth(5).waitFor();
    await page.locator(".stop").click();
    await page.locator(".thread-head .pill.state-cancelled").waitFor();
    await shoot(page, "cancelled");
    expect(await page.locator(".stop").count()).toBe(0);
    expect(await seriousViolations(page)).toEqual([]);
    expect(stage.complaints).toEqual([]);
  });

  test("a call waits for approval, and runs when it is given", async () => {
    const { page } = stage;
    await page.locator(".prompt", { hasText: "Send 20 euros" }).click();
    await page.getByRole("button", { name: "Approve" }).waitFor();
    await shoot(page, "approval");
    expect(await seriousViolations(page)).toEqual([]);
    await page.setViewportSize(NARROW);
    await shoot(page, "approval-narrow");
    await page.getByLabel("Reason, for the log").fill("She paid for lunch.");
    await page.getByRole("button", { name: "Approve" }).click();
    await atRest(page);
    expect(await page.locator(".tool-state.done").count()).toBe(1);
    expect(await page.locator(".decided").textContent()).toMatch(
      /^Approved by studio: She paid for lunch\.#\d+\d\d:\d\d:\d\d$/,
    );
    await talk(page, "How warm is it on the moon?");
    expect(await page.locator(".tool-state.error").count()).toBe(1);
    await shoot(page, "tool-failed-narrow");
    expect(stage.complaints).toEqual([]);
  });

  test("a call that another process runs is running", async () => {
    const tools = {
      pay: defineTool({ inputSchema: jsonSchema({ type: "object" }), execute: () => new Promise(() => {}) }),
    };
    const agent = defineAgent({ model: scriptedModel([{ calls: [{ name: "pay" }] }]), tools });
    const other = AgentHost.create({ agent, store: stage.store, warn: () => undefined });
    onTestFinished(() => other.stop({ graceMs: 0 }));
    const request = await other.ask("thread_other", "Pay.");
    for await (const { kind } of request.events()) if (kind === "tool_started") break;
    const { page } = stage;
    await page.goto(`${stage.origin}/#/t/thread_other`);
    await page.locator(".tool", { hasText: "pay" }).waitFor();
    expect(await page.locator(".tool-state").textContent()).toBe("running");
    expect(stage.complaints).toEqual([]);
  });

  test("a call of another agent that waits says so, with a link to its thread, and each thread names its model", async () => {
    const pay = defineTool({ inputSchema: jsonSchema({ type: "object" }), needsApproval: true, execute: () => "paid" });
    const payer = defineAgent({
      name: "payer",
      model: scriptedModel([{ calls: [{ name: "pay" }] }, "Paid."], { modelId: "small" }),
      tools: { pay },
    });
    const clerk = defineAgent({
      name: "clerk",
      model: scriptedModel([{ calls: [{ name: "payer", arguments: { task: "Pay 20." } }] }, "Done."], {
        modelId: "large",
      }),
      tools: { payer: agentTool(payer, { description: "Pays." }) },
    });
    const own = await Stage.open({ agents: [clerk, payer] });
    onTestFinished(() => own.close());
    const { page } = own;
    await page.getByRole("button", { name: "New thread" }).last().click();
    await ask(page, "Pay 20.");
    await page.locator(".tool-state.child", { hasText: "its agent waits" }).waitFor();
    expect(await page.locator(".who").textContent()).toContain("large");
    expect(await seriousViolations(page)).toEqual([]);
    await page.getByRole("link", { name: "thread of its agent" }).click();
    await page.getByRole("button", { name: "Approve" }).click();
    await page.locator(".turn.assistant", { hasText: "Paid." }).waitFor();
    expect(await page.locator(".who").textContent()).toContain("small");
    await page.goBack();
    await page.locator(".turn.assistant", { hasText: "Done." }).waitFor();
    expect(await page.locator(".tool-state").textContent()).toBe("done");
    expect(own.complaints).toEqual([]);
  });

  test("long arguments say how long they are and how they end, and are approved after all of them were in view", async () => {
    const given = { path: "\u05d0\u05d1/\u05d2", script: "echo line\n".repeat(900), last: "rm -rf \u202etxt.a" };
    const tools = {
      shell: defineTool({ inputSchema: jsonSchema({ type: "object" }), needsApproval: true, execute: () => "ok" }),
    };
    const model = scriptedModel([{ calls: [{ name: "shell", arguments: given }] }, "It ran."]);
    const own = await Stage.open({ agent: defineAgent({ name: "shop", model, tools }) });
    onTestFinished(() => own.close());
    const { page } = own;
    await page.getByRole("button", { name: "New thread" }).last().click();
    await ask(page, "Clean up.");
    const approve = page.getByRole("button", { name: "Approve" });
    await approve.waitFor();
    const text = JSON.stringify(given, null, 2).replace("\u202e", "\\u202e");
    await page
      .locator(".approval-size", { hasText: `${text.length.toLocaleString("en")} characters in 5 lines` })
      .waitFor();
    expect(await page.locator(".approval-tail").textContent()).toBe(text.slice(-400));
    expect(await approve.isEnabled()).toBe(false);
    expect(await seriousViolations(page)).toEqual([]);
    await page.getByRole("button", { name: /^Show all/ }).click();
    const box = page.getByRole("region", { name: /^Arguments of shell/ });
    await expect.poll(() => box.textContent()).toBe(text);
    expect(await approve.isEnabled()).toBe(false);
    await box.focus();
    await page.keyboard.press("End");
    await expect.poll(() => approve.isEnabled()).toBe(true);
    expect(own.complaints).toEqual([]);
  });

  test("a message is edited and an answer regenerated; every tab shows the branch, and switches back", async () => {
    const { page } = stage;
    await page.locator(".prompt", { hasText: "(17 + 25) * 3" }).click();
    await atRest(page);
    const other = await stage.window();
    await other.goto(page.url());
    const texts = (tab: typeof page) => tab.locator(".bubble").allTextContents();
    await expect.poll(() => texts(other)).toEqual(["What is (17 + 25) * 3?"]);
    await page.getByRole("button", { name: "edit" }).click();
    const box = page.getByLabel("Edit the message");
    await box.press("Escape");
    await page.locator("button:focus", { hasText: /^\s*edit$/ }).waitFor();
    await page.keyboard.press("Enter");
    await shoot(page, "editing");
    expect(await seriousViolations(page)).toEqual([]);
    await box.fill("What is 5 * 5?");
    await box.press("Enter");
    for (const tab of [page, other]) await expect.poll(() => texts(tab)).toEqual(["What is 5 * 5?"]);
    await page.getByRole("group", { name: "Version 2 of 2" }).waitFor();
    await atRest(page);
    await page.getByRole("button", { name: "regenerate" }).click();
    const versions = (tab: typeof page) => tab.locator(".turn.assistant .versions").allTextContents();
    for (const tab of [page, other]) await expect.poll(() => versions(tab)).toEqual(["2 of 2"]);
    await atRest(page);
    await shoot(page, "versions");
    await other.locator(".turn.user").getByRole("button", { name: "Version before" }).click();
    for (const tab of [page, other]) await expect.poll(() => texts(tab)).toEqual(["What is (17 + 25) * 3?"]);
    await page.setViewportSize(NARROW);
    await shoot(page, "versions-narrow");
    expect(await seriousViolations(page)).toEqual([]);
    await page.reload();
    await expect.poll(() => texts(page)).toEqual(["What is (17 + 25) * 3?"]);
    expect(stage.complaints).toEqual([]);
  });

  test("a fork goes its own way, and its parent stays", async () => {
    const { page } = stage;
    await page.locator(".prompt").first().click();
    await atRest(page);
    await talk(page, "What is 5 * 5?");
    const parent = page.url();
    const first = page.locator(".turn.assistant", { hasText: "126" }).last();
    await first.hover();
    await first.getByRole("button", { name: "fork from here" }).click();
    await page.waitForURL((url) => url.href !== parent);
    await page.locator(".turn.user").first().waitFor();
    expect(await page.locator(".turn.user").count()).toBe(1);
    await talk(page, "And times 3?");
    await page.locator(".thread-row", { hasText: "fork of" }).waitFor();
    await shoot(page, "fork");
    await page.goto(parent);
    await page.locator(".turn.user").nth(1).waitFor();
    expect(await page.locator(".turn.user").count()).toBe(2);
    await shortcut(page, "2");
    await page.locator(".pill.fork").waitFor();
    await shoot(page, "fork-in-timeline");
    expect(stage.complaints).toEqual([]);
  });

  test("the context is replaced, and the thread keeps all of it", async () => {
    const { page } = stage;
    await page.locator(".prompt").first().click();
    await atRest(page);
    await page.locator(".menu summary").click();
    await page.getByRole("button", { name: "Replace or switch context" }).click();
    await shoot(page, "context-dialog");
    expect(await seriousViolations(page)).toEqual([]);
    await page.getByLabel("Messages: a JSON list").fill("[no JSON");
    await page.locator(".context-dialog button[type=submit]").click();
    await page.locator(".context-dialog [role=alert]", { hasText: "not_json" }).waitFor();
    await page.getByLabel("Messages: a JSON list").fill("My lucky number is 7.");
    await page.locator(".context-dialog button[type=submit]").click();
    await page.locator(".chat-line", { hasText: "replace" }).waitFor();
    await talk(page, "What is 5 * 5?");
    await shortcut(page, "3");
    await page.locator(".badge.proven").waitFor();
    await page.locator(".message", { hasText: "My lucky number is 7." }).waitFor();
    await page.locator(".why .reason", { hasText: "before the lane was replaced" }).first().waitFor();
    await shoot(page, "replaced");
    expect(stage.complaints).toEqual([]);
  });

  test("search and filters narrow the list, and an unknown thread says so", async () => {
    const { page } = stage;
    await page.locator(".prompt").first().click();
    await atRest(page);
    await shortcut(page, "/");
    await page.keyboard.type("nothing like it");
    await page.getByText("No thread matches.").waitFor();
    await page.fill("#search", "17 + 25");
    await page.locator(".thread-row").waitFor();
    await page.getByLabel("Status").selectOption("failed");
    await page.getByText("No thread matches.").waitFor();
    await page.goto(`${stage.origin}/#/t/thread_nowhere`);
    await page.locator(".problem", { hasText: "thread_not_found" }).waitFor();
    await shoot(page, "unknown-thread");
    expect(await seriousViolations(page)).toEqual([]);
  });
});
