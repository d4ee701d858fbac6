import { AgentHost, AgentServer, defineAgent, memoryStore, openStore, react } from "heddle";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";

const agent = defineAgent({ model: scriptedModel([]) });
const store = memoryStore();

/** As somebody without types would say it. */
function untyped(options: object): never {
  return options as never;
}

describe("an option that does not exist is refused, and those that do are named", () => {
  test.each([
    ["a server", () => AgentServer.start(untyped({ agent, store, thread: "t1" })), '"thread"', "threadId"],
    ["a host", async () => AgentHost.create(untyped({ agent, store, idle: 1 })), '"idle"', "idleMs"],
    ["a run", () => react.run("Hi.", agent, untyped({ threads: 1 })), '"threads"', "threadId"],
    ["a continued run", () => react.continue("rt2.a.b", agent, untyped({ approved: [] })), '"approved"', "approve"],
    ["a collected run", () => react.collect("rt2.a.b", agent, untyped({ answer: {} })), '"answer"', "answers"],
    ["a cancelled run", () => react.cancel("rt2.a.b", agent, untyped({ why: "" })), '"why"', "reason"],
    [
      "a run that only a cancel could tell why",
      () => react.continue("rt2.a.b", agent, untyped({ reason: "" })),
      '"reason"',
      "deny",
    ],
    [
      "a cancelled run that nobody asks",
      () => react.cancel("rt2.a.b", agent, untyped({ approve: [] })),
      '"approve"',
      "reason",
    ],
  ])("%s", async (_, start, wrong, known) => {
    const error: unknown = await start().catch((caught: unknown) => caught);
    expect(error).toMatchObject({ name: "RequestError", code: "invalid_options" });
    expect(error).toMatchObject({ message: expect.stringMatching(new RegExp(`${wrong}.* It has: .*\\b${known}\\b`)) });
  });

  test("a stream, before anything runs", () => {
    expect(() => react.stream("Hi.", agent, untyped({ threads: 1 }))).toThrow(/"threads"/);
  });

  test("an ask, and the thread is as it was", async () => {
    await using server = await AgentServer.start({ agent, store });
    await expect(server.ask("Hi.", untyped({ contxt: 1 }))).rejects.toMatchObject({ code: "invalid_options" });
    expect((await server.thread()).rev).toBe(0);
  });
});

test.each([
  ["a promise of one", openStore("memory:")],
  ["its URL", "memory:"],
  ["nothing", undefined],
])("a store that is %s is refused before it is used", async (_, given) => {
  const options = untyped({ agent, store: given });
  const refused = { code: "invalid_options", message: expect.stringContaining("await openStore(url)") };
  await expect(AgentServer.start(options)).rejects.toMatchObject(refused);
  expect(() => AgentHost.create(options)).toThrow(expect.objectContaining(refused));
  if (given === undefined) return;
  await expect(react.run("Hi.", agent, untyped({ store: given }))).rejects.toMatchObject(refused);
  await expect(react.continue("rt2.a.b", agent, untyped({ store: given }))).rejects.toMatchObject(refused);
  await expect(react.cancel("rt2.a.b", agent, untyped({ store: given }))).rejects.toMatchObject(refused);
});

test("messages are no thread, and the refusal says what makes one of them", async () => {
  const thread = untyped([{ role: "user", content: "Hi." }] as object);
  await expect(react.run("Hi.", agent, { thread })).rejects.toMatchObject({
    code: "invalid_options",
    message: expect.stringContaining("Thread.fromMessages(list, { format })"),
  });
});

test("messages are no content of an ask, and parts that no model can read are refused with their field", async () => {
  await using server = await AgentServer.start({ agent, store });
  const messages = [{ role: "user", content: "Hi." }] as never; // no part has a type
  await expect(server.ask(messages)).rejects.toMatchObject({ code: "invalid_ask" });
  const refused = async (part: object, field: string) => {
    const ask = server.ask([{ type: "text", text: "Look." }, part] as never);
    await expect(ask).rejects.toMatchObject({
      code: "invalid_ask",
      message: expect.stringContaining(`content[1].${field} `),
    });
  };
  await refused({ type: "image", image: "x" }, "type"); // a part of another library
  await refused({ type: "file", mediaType: "text/plain", data: "aGk=" }, "data");
  await refused({ type: "file", mimeType: "text/plain", data: { base64: "aGk=" } }, "mediaType");
  await refused(
    { type: "file", mediaType: "text/plain", data: { base64: "data:text/plain;base64,aGk=" } },
    "data.base64",
  );
  await refused({ type: "file", mediaType: "text/plain", data: { base64: "" } }, "data.base64");
  await refused({ type: "file", mediaType: "text/plain", data: { url: "notes.txt" } }, "data.url");
  expect(await store.load(server.threadId)).toBeUndefined();
});

test("a steer with such a part is refused too", async () => {
  await using server = await AgentServer.start({ agent, store: memoryStore() });
  const file = { type: "file", mediaType: "text/plain", data: { url: "notes.txt" } } as const;
  await expect(server.inject([file], { source: "page" })).rejects.toMatchObject({
    code: "invalid_options",
    message: expect.stringContaining("content[0].data.url "),
  });
  expect((await server.thread()).rev).toBe(0);
});

describe("an ask of a message", () => {
  const message = { role: "user", content: [{ type: "text", text: "Hi." }] } as const;

  test("is an ask of its content, and the same request as one", async () => {
    const agent = defineAgent({ model: scriptedModel(["1", "2", "3"]) });
    await using server = await AgentServer.start({ agent, store: memoryStore() });
    const request = await server.ask(message, { requestId: "r1" });
    const [ask] = (await server.thread()).filterByKind("ai_message");
    expect(ask?.payload).toMatchObject(message);
    expect((await server.ask(message.content, { requestId: "r1" })).id).toBe(request.id);
    await request.result;
    await using host = AgentHost.create({ agent, store: memoryStore() });
    expect((await (await host.ask("thread_1", message)).result).text).toBe("2");
    expect((await react.run(message, agent)).text).toBe("3");
  });

  test.each([
    ["of another role", { role: "assistant", content: "Hi." }, "assistant"],
    ["without a role", { content: "Hi." }, "role is undefined"],
    ["with fields that would be lost", { role: "user", content: "Hi.", name: "Ada" }, "name"],
  ])("%s is refused, and nothing is asked", async (_what, given, named) => {
    await using server = await AgentServer.start({ agent, store: memoryStore() });
    const refused = { code: "invalid_ask", message: expect.stringContaining(named) };
    await expect(server.ask(given as never)).rejects.toMatchObject(refused);
    await expect(react.run(given as never, agent)).rejects.toMatchObject(refused);
    expect((await server.thread()).rev).toBe(0);
  });
});

describe("an option with a value that it cannot have is refused at once, by its name", () => {
  const values: readonly (readonly [string, readonly unknown[]])[] = [
    ["leaseTtlMs", ["5s", 0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]],
    ["claimWaitMs", ["5s", -1, Number.NaN]],
    ["holder", ["a/b", "", 5]],
  ];
  const ofHosts = [...values, ["idleMs", ["5s", -1, Number.NaN]] as const];
  const each = (list: typeof values) => list.flatMap(([name, wrong]) => wrong.map((value) => [name, value] as const));

  test.each(each(ofHosts))("a host with %s: %s", (name, value) => {
    const coded = {
      code: expect.stringMatching(/^invalid_(options|id)$/),
      message: expect.stringMatching(`^${name} `),
    };
    expect(() => AgentHost.create(untyped({ agent, store, [name]: value }))).toThrow(expect.objectContaining(coded));
  });

  test.each(each(values))("a server with %s: %s", async (name, value) => {
    const coded = {
      code: expect.stringMatching(/^invalid_(options|id)$/),
      message: expect.stringMatching(`^${name} `),
    };
    await expect(AgentServer.start(untyped({ agent, store, [name]: value }))).rejects.toMatchObject(coded);
  });

  test("a stop with graceMs", async () => {
    const host = AgentHost.create({ agent, store });
    const coded = { code: "invalid_options", message: expect.stringMatching(/^graceMs /) };
    for (const graceMs of ["5s", -1, Number.NaN])
      await expect(host.stop(untyped({ graceMs }))).rejects.toMatchObject(coded);
    await host.stop();
  });

  test("what they can have is taken", async () => {
    const never = Number.POSITIVE_INFINITY;
    await AgentHost.create({ agent, store, leaseTtlMs: 1, claimWaitMs: 0, idleMs: 0, holder: "one" }).stop({
      graceMs: 0,
    });
    await AgentHost.create({ agent, store, claimWaitMs: never, idleMs: never }).stop({ graceMs: never });
  });
});
