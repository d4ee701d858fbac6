import { describe, expect, test } from "vitest";
import { failureOf } from "../support/stage.ts";
import { agentOf, anything, house } from "./support/hosts.ts";

const T = "thread_1";
const LOOK = { calls: [{ id: "l", name: "look" }] } as const;

/** A thread whose process was stopped while a repeatable tool ran, and a host of another process. */
async function left(tools: Readonly<Record<string, object>> = {}, script: readonly unknown[] = []) {
  const on = await house();
  const ran: string[] = [];
  const look = (name: string) => ({
    look: {
      inputSchema: anything,
      repeatable: true,
      execute: () => {
        ran.push(name);
        return new Promise<string>(() => undefined);
      },
    },
    ...tools,
  });
  const first = on.host({ agent: agentOf([LOOK], { tools: look("first") }), holder: "web_1" });
  const { id } = await on.end(first.ask(T, "Look."));
  await on.settled();
  await on.end(first.stop({ graceMs: 0 }));
  const agent = agentOf(script as never, { tools: look("second"), busy: "queue" });
  return { on, id, ran, second: on.host({ agent, holder: "web_2" }) };
}

describe("cancel of a thread that no process has", () => {
  test("ends its request, and no call of it begins again", async () => {
    const { on, id, ran, second } = await left();
    expect(await on.end(second.cancel(T, id, "Enough.", { source: "phone" }))).toBe(true);
    expect(ran).toEqual(["first"]);
    const entries = (await on.store.load(T))?.toArray() ?? [];
    expect(entries.at(-1)).toMatchObject({
      payload: { code: "request_cancelled", message: "Enough." },
      refs: { requestId: id, source: "phone" },
    });
    expect(await on.end(second.cancel(T, id))).toBe(false);
  });

  test("without an id, too; and the next ask runs", async () => {
    const { on, ran, second } = await left({}, ["Done."]);
    expect(await on.end(second.cancel(T))).toBe(true);
    expect((await on.end((await on.end(second.ask(T, "Go on."))).result)).text).toBe("Done.");
    expect(ran).toEqual(["first"]);
  });

  test("of another request leaves the open one, which is resumed", async () => {
    const { on, id, ran, second } = await left();
    expect(await on.end(second.cancel(T, "another"))).toBe(false);
    await on.settled();
    expect(ran).toEqual(["first", "second"]);
    expect(await on.end(second.cancel(T, id))).toBe(true);
  });

  test("refuses wrong options before the thread is claimed", async () => {
    const { on, second } = await left();
    expect((await failureOf(second.cancel(T, 1 as never))).code).toBe("invalid_options");
    expect((await failureOf(second.cancel(T, undefined, undefined, { pending: "no" } as never))).code).toBe(
      "invalid_options",
    );
    expect((await on.store.load(T))?.toArray().at(-1)?.payload).not.toHaveProperty("end");
    expect(second.size).toBe(0);
  });
});
