import { afterAll, describe, expect, test } from "vitest";
import { startWorkerd } from "../../support/workerd/start-workerd.ts";

interface Case {
  readonly name: string;
  readonly group: string;
  readonly skip?: string;
}

const workerd = await startWorkerd({ script: new URL("contract-worker.ts", import.meta.url) });
afterAll(() => workerd.dispose());
const read = async (query: string): Promise<unknown> => (await workerd.dispatchFetch(`http://test/${query}`)).json();
const cases = (await read("")) as readonly Case[];

describe("the store of a Durable Object keeps the contract", () => {
  for (const [index, { name, group, skip }] of cases.entries())
    test.skipIf(skip)(`${group}: ${name}`, async () => {
      expect(await read(`?case=${index}`)).toBe(null);
    });

  test("only cases with other processes, or with all tenants, are skipped", () => {
    const skipped = new Set(cases.flatMap(({ skip }) => skip ?? []));
    expect([...skipped]).toEqual(["no spawn given", "no openDatabase given"]);
    expect(cases.filter(({ skip }) => skip === undefined).length).toBeGreaterThan(340);
  });
});
