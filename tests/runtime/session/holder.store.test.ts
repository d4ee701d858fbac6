import { randomUUID } from "node:crypto";
import { systemRuntimePorts } from "heddle";
import { expect, inject, onTestFinished, test } from "vitest";
import { Holder } from "../../../src/runtime/session/holder.ts";
import { openAt } from "../../support/open-at.ts";
import { tempFile } from "../../support/temp-folder.ts";

const databases = {
  SQLite: () => ({ url: `sqlite:${tempFile()}`, tenant: "default" }),
  Postgres: () => ({ url: inject("postgresUrl"), tenant: randomUUID() }),
};

test.each(Object.entries(databases))(
  "a released thread is claimed by a process that waits, long before the claim would have run out: %s",
  async (_, database) => {
    const { url, tenant } = database();
    const [one, two] = [await openAt(url, { tenant }), await openAt(url, { tenant })];
    onTestFinished(async () => {
      await Promise.all([one.close(), two.close()]);
    });
    const options = { ttlMs: 600_000, waitMs: 600_000, ports: systemRuntimePorts, lost: () => undefined };
    const first = await Holder.claim(one, "thread_1", { ...options, holder: "one" });
    const second = Holder.claim(two, "thread_1", { ...options, holder: "two" });
    await first.release();
    const { epoch } = await second;
    expect(epoch).toBe(2);
    await (await second).release();
  },
);
