import { expect, test } from "vitest";
import type { Sql } from "../../../src/stores/postgres/connection-pool.ts";
import { Notifications } from "../../../src/stores/postgres/notifications.ts";

/** Records the payload of each notification. */
function recorder() {
  const sent: unknown[] = [];
  const tag = (_: TemplateStringsArray, _channel: string, payload: string) => {
    sent.push((JSON.parse(payload) as { readonly threads: unknown }).threads);
    return Promise.resolve([]);
  };
  return { sent, sql: tag as unknown as Sql }; // only the tag is called
}

test("the first commit is announced at once, those of the next moment in one notification, and a flush does not wait", async () => {
  const { sent, sql } = recorder();
  const woken: unknown[] = [];
  const notifications = new Notifications(sql, "heddle", (tenant, threadIds) => woken.push([tenant, threadIds]));
  notifications.announce("acme", ["a"]);
  expect(sent).toEqual([{ acme: ["a"] }]);
  notifications.announce("acme", ["b", "c"]);
  notifications.announce("globex", ["a"]);
  notifications.announce("acme", ["b"]);
  notifications.announce("acme", []);
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
