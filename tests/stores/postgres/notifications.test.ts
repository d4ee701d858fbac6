import { expect, test } from "vitest";
import { Notifications } from "../../../src/stores/postgres/notifications.ts";
import type { Readers } from "../../../src/stores/postgres/readers.ts";
import type { Scope } from "../../../src/stores/postgres/tables.ts";

/** Records the payload of each notification. */
function recorder() {
  const sent: unknown[] = [];
  const tag = (_: TemplateStringsArray, _channel: string, payloads: readonly string[]) => {
    for (const payload of payloads) sent.push((JSON.parse(payload) as { readonly threads: unknown }).threads);
    return Promise.resolve([]);
  };
  const scope = { sql: tag } as unknown as Scope; // only the tag is called
  const read: Readers["read"] = async (work) => work(scope);
  return { sent, read };
}

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
