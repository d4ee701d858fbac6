import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AgentEvent } from "../../src/agent/event.ts";
import { Steering } from "../../src/cli/chat-steering.ts";
import { COMMANDS } from "../../src/cli/commands.ts";
import { Interrupts } from "../../src/cli/interrupts.ts";
import type { Io } from "../../src/cli/io.ts";
import { BrokenPipe } from "../../src/cli/io.ts";
import { Output, table } from "../../src/cli/output.ts";
import { messagesIn } from "../../src/cli/studio-requests.ts";
import { nearest } from "../../src/thread/options.ts";

interface Terminal {
  readonly io: Io;
  readonly written: string[];
  readonly left: number[];
  interrupt(): void;
}

function terminal(env: Io["env"] = {}, isTerminal = true): Terminal {
  const written: string[] = [];
  const left: number[] = [];
  const handlers = new Set<(signal: "SIGINT") => void>();
  const sink = { isTerminal, columns: 80, write: async (text: string) => void written.push(text) };
  const io = {
    stdout: sink,
    stderr: sink,
    env,
    onInterrupt: (handler: (signal: "SIGINT") => void) => {
      handlers.add(handler);
      return () => handlers.delete(handler);
    },
    leave: (code: number) => void left.push(code),
  } as unknown as Io; // what these tests use of it
  return {
    io,
    written,
    left,
    interrupt: () => {
      for (const handler of handlers) handler("SIGINT");
    },
  };
}

describe("interrupts", () => {
  test("the first cancels, the second leaves with 130, and one that came early is not lost", () => {
    const { io, left, interrupt } = terminal();
    const interrupts = new Interrupts(io, new Output(io, {}));
    let cancelled = 0;
    interrupt();
    interrupts.onCancel(async () => cancelled++);
    expect({ cancelled, left }).toEqual({ cancelled: 1, left: [] });
    interrupt();
    expect({ cancelled, left }).toEqual({ cancelled: 1, left: [130] });
    interrupts.end();
    interrupt();
    expect(left).toEqual([130]);
  });
});

describe("steering", () => {
  const steering = (answer: object) => {
    const { io, written } = terminal({ NO_COLOR: "1" });
    const said: string[] = [];
    const client = { post: async (_path: string, { content }: { content: string }) => said.push(content) && answer };
    const out = new Output(io, {});
    const interrupts = new Interrupts(io, out);
    return { said, written, steering: new Steering({ out, client: client as never, threadId: "t", interrupts }) };
  };
  const injected = { kind: "input_injected", data: { id: "s1", steer: "steer", content: "hi" } } as AgentEvent;

  test("words wait for the request to be known, and its event is their receipt, whichever comes first", async () => {
    for (const isEventFirst of [true, false]) {
      const answer = Promise.withResolvers<object>();
      const { said, written, steering: one } = steering(answer.promise);
      one.handleLine("hi");
      await Promise.resolve();
      expect(said).toEqual([]);
      one.began("r");
      await expect.poll(() => said).toEqual(["hi"]);
      if (isEventFirst) await one.event(injected);
      answer.resolve({ id: "s1", accepted: true });
      if (!isEventFirst) {
        await answer.promise;
        await new Promise(setImmediate);
        await one.event(injected);
      }
      expect(await one.ended()).toEqual([]);
      expect(written).toEqual(["delivered: hi\n"]);
    }
  });

  test("text that comes too late, or is accepted and never delivered, is returned; refused text gets a reason", async () => {
    for (const answer of [
      { id: "s1", accepted: false, reason: "idle" },
      { id: "s1", accepted: true },
    ]) {
      const { written, steering: late } = steering(answer);
      late.began("r");
      late.handleLine("hi");
      expect(await late.ended()).toEqual(["hi"]);
      expect(written).toEqual(["not delivered: the request ended first: hi\n"]);
    }
    const { written, steering: full } = steering({ id: "s1", accepted: false, reason: "queue_full" });
    full.began("r");
    full.handleLine("hi");
    await expect.poll(() => written).toEqual(["not delivered: too many messages are waiting already: hi\n"]);
    expect(await full.ended()).toEqual([]);
  });
});

describe("output", () => {
  const looks: readonly (readonly [Io["env"], boolean, boolean])[] = [
    [{}, true, true],
    [{}, false, false],
    [{ NO_COLOR: "1" }, true, false],
    [{ TERM: "dumb" }, true, false],
    [{ FORCE_COLOR: "1" }, false, true],
    [{ FORCE_COLOR: "1", NO_COLOR: "1" }, true, false],
    [{ FORCE_COLOR: "0" }, true, false],
  ];
  test.for(looks)("with %j on a terminal (%s) there is color: %s", ([env, isTerminal, isPainted]) => {
    const { paint } = new Output(terminal(env, isTerminal).io, {});
    expect(paint("red", "x") !== "x").toBe(isPainted);
  });

  test("a model cannot control the terminal it is shown on; a pipe gets its exact output", async () => {
    const said = "a\u001b]0;title\u0007b\u001b[2Jc\rd\u009b1me\n\tf";
    const [seen, piped] = [terminal(), terminal({}, false)];
    await new Output(seen.io, {}).raw(said);
    await new Output(piped.io, {}).raw(said);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that must not be there
    expect(seen.written.join("")).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    expect(piped.written.join("")).toBe(said);
  });

  test("messages are dropped when stderr is closed; a closed stdout ends the command", async () => {
    const { io } = terminal();
    const write = async (): Promise<void> => {
      throw new BrokenPipe();
    };
    const out = new Output({ ...io, stdout: { ...io.stdout, write }, stderr: { ...io.stderr, write } }, {});
    await expect(out.info("hello")).resolves.toBeUndefined();
    await expect(out.data("hello")).rejects.toBeInstanceOf(BrokenPipe);
  });
});

describe("words", () => {
  test("a command with one slip in it is recognized", () => {
    const names = COMMANDS.map(({ name }) => name);
    const slip = fc.tuple(fc.constantFrom(...names.filter(({ length }) => length > 3)), fc.nat()).map(([name, at]) => {
      const index = at % (name.length - 1);
      return [name, `${name.slice(0, index)}${name[index + 1]}${name[index]}${name.slice(index + 2)}`] as const;
    });
    fc.assert(
      fc.property(slip, ([name, slipped]) => {
        expect(nearest(slipped, names)).toBe(name);
      }),
    );
    expect(nearest("xyzzy", names)).toBeUndefined();
    expect(nearest("id", ["idempotencyRef", "requestId", "refs"])).toBe("requestId");
  });

  test("no line of a table is wider than allowed, whatever its last column contains", () => {
    const rows = fc.array(fc.tuple(fc.string({ maxLength: 5 }), fc.string({ maxLength: 300 })));
    fc.assert(
      fc.property(rows, (given) => {
        for (const line of table(given, 40)) expect([...line].length).toBeLessThanOrEqual(40);
      }),
    );
  });
});

describe("event streams", () => {
  test("messages come out whole, wherever the chunks are cut", async () => {
    const messages = fc.array(fc.record({ event: fc.constantFrom("agent", "entry"), data: fc.json() }), {
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(messages, fc.integer({ min: 1, max: 40 }), async (given, size) => {
        const text = given
          .map(({ event, data }, at) => `event: ${event}\nid: e${at}\ndata: ${data}\n\n: still here\n\n`)
          .join("");
        const bytes = new TextEncoder().encode(text);
        const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
          bytes.slice(at * size, (at + 1) * size),
        );
        const told = await Array.fromAsync(messagesIn(ReadableStream.from(chunks)));
        expect(told).toEqual(given.map((message, at) => ({ ...message, id: `e${at}` })));
      }),
    );
  });
});
