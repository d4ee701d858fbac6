import { expect, test } from "vitest";
import { Notifications } from "../../../src/stores/postgres/notifications.ts";
import type { Readers } from "../../../src/stores/postgres/readers.ts";
import type { Scope } from "../../../src/stores/postgres/tables.ts";

/** Records the payload of each notification. The first ones fail. */
function recorder(failures = 0) {
  const sent: unknown[] = [];
  let tries = 0;
  const tag = (_: TemplateStringsArray, _channel: string, payloads: readonly string[]) => {
    for (const payload of payloads) sent.push((JSON.parse(payload) as { readonly threads: unknown }).threads);
    return Promise.resolve([]);
  };
  const scope = { sql: tag } as unknown as Scope; // only the tag is called
  const read: Readers["read"] = async (work) => {
    tries++;
    if (tries <= failures) throw new Error("The connection was lost.");
    return work(scope);
  };
  return { sent, read, tries: () => tries };
}

const deaf = { wake: () => undefined, message: () => undefined };

test("the first commit is announced at once, those of the next moment in one notification, and a flush does not wait", async () => {
  const { sent, read } = recorder();
  const woken: unknown[] = [];
  const notifications = new Notifications(read, "heddle", {
    wake: (tenant, threadIds) => woken.push([tenant, threadIds]),
    message: () => undefined,
  });
  notifications.announce("acme", ["a"], []);
  expect(sent).toEqual([{ acme: ["a"] }]);
  notifications.announce("acme", ["b", "c"], []);
  notifications.announce("globex", ["a"], []);
  notifications.announce("acme", ["b"], []);
  notifications.announce("acme", [], []);
  expect(sent).toHaveLength(1);
  await notifications.flush();
  expect(sent).toEqual([{ acme: ["a"] }, { acme: ["b", "c"], globex: ["a"] }]);
  await notifications.flush();
  expect(sent).toHaveLength(2);
  expect(woken).toEqual([
    ["acme", ["a"]],
    ["acme", ["b", "c"]],
    ["globex", ["a"]],
    ["acme", ["b"]],
  ]);
});

test("an announcement whose connection was lost is sent again, with those that came meanwhile", async () => {
  const { sent, read } = recorder(2);
  const notifications = new Notifications(read, "heddle", deaf);
  notifications.announce("acme", ["a"], []);
  notifications.announce("acme", ["b"], []);
  await expect.poll(() => sent, { timeout: 5000 }).toEqual([{ acme: ["b", "a"] }]);
});

test("a message is not sent again, because it may have arrived", async () => {
  const { sent, read, tries } = recorder(1);
  const notifications = new Notifications(read, "heddle", deaf);
  const listening = { listen: async (_channel: string, _hear: unknown, ready: () => void) => ready() };
  notifications.listen(listening as never); // only its method is called
  notifications.publish("acme", "word");
  await expect.poll(tries, { timeout: 5000 }).toBe(1);
  await notifications.flush();
  expect([sent, tries()]).toEqual([[], 1]);
});

test("while the database is away, announcements are dropped after some tries", async () => {
  const { sent, read, tries } = recorder(6);
  const notifications = new Notifications(read, "heddle", deaf);
  notifications.announce("acme", ["a"], []);
  await expect.poll(tries, { timeout: 15_000, interval: 20 }).toBe(6);
  await notifications.flush();
  notifications.announce("acme", ["b"], []);
  await notifications.flush();
  expect(sent).toEqual([{ acme: ["b"] }]);
});
