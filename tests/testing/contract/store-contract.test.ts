import { memoryStore, type OpenStoreOptions, type ThreadStore } from "heddle";
import { MemoryDatabase, memoryDatabase } from "heddle/store";
import { type ContractCase, ContractFailure, type StoreSubject, storeContract } from "heddle/testing";
import { describe, expect, test } from "vitest";

const open = inOneDatabase();
const cases = storeContract({ open });
const openDatabase = () => memoryDatabase();

describe("the list of cases", () => {
  test("has a name of its own for each", () => {
    expect(cases.length).toBeGreaterThan(200);
    expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
  });

  test("is the same each time it is asked for", () => {
    const names = (list: readonly ContractCase[]) => list.map(({ group, name }) => `${group}: ${name}`);
    expect(names(storeContract({ open }))).toEqual(names(cases));
  });

  test("skips what needs other processes when there is no spawn, and says so", () => {
    const skipped = storeContract({ open, openDatabase }).filter(({ skip }) => skip !== undefined);
    expect(skipped.map(({ skip }) => skip)).toEqual(skipped.map(() => "no spawn given"));
    expect(new Set(skipped.map(({ group }) => group))).toEqual(new Set(["processes"]));
    const spawn = async () => ({ acknowledged: [], conflicts: 0 });
    expect(storeContract({ open, openDatabase, spawn }).filter(({ skip }) => skip !== undefined)).toEqual([]);
  });

  test("skips what needs a database for all tenants when there is none, and says so", () => {
    const skipped = cases.filter(({ skip }) => skip === "no openDatabase given");
    expect(new Set(skipped.map(({ group }) => group))).toEqual(
      new Set(["lease", "counter", "runnable", "waiting", "handle"]),
    );
  });

  test("skips a case for a reason", () => {
    const name = "metadata is merged by append";
    const [skipped, ...more] = storeContract({ open, openDatabase, skip: { [name]: "it has none" } }).filter(
      ({ skip }) => skip !== undefined && skip !== "no spawn given",
    );
    expect(skipped).toMatchObject({ name, skip: "it has none" });
    expect(more).toEqual([]);
  });

  test("takes no unknown name and no empty reason", () => {
    expect(() => storeContract({ open, skip: { "no such case": "reason" } })).toThrow("no case has this name");
    expect(() => storeContract({ open, skip: { "metadata is merged by append": " " } })).toThrow("a skip needs a text");
  });
});

describe("a case", () => {
  test("can run again, and beside itself, in a database that holds data", async () => {
    const name = "the feed has the entries of all threads in the order they were committed";
    await Promise.all([run(name, { open }), run(name, { open }), run(name, { open })]);
  });

  test("closes every handle it opened, also when it fails", async () => {
    for (const name of [
      "an append at the right revision lands",
      "two that grew from one history cannot both be saved",
    ]) {
      const handles = { opened: 0, closed: 0 };
      await run(name, { open: counting(handles) });
      expect(handles.opened).toBeGreaterThan(0);
      expect(handles.closed).toBe(handles.opened);
    }
    const handles = { opened: 0, closed: 0 };
    const failing = counting(handles, { delete: async () => ({ deleted: [], keptFor: [] }) });
    await expect(run("a thread that never was cannot be deleted", { open: failing })).rejects.toThrow();
    expect(handles).toEqual({ opened: 1, closed: 1 });
  });

  test("says what it expected and what it got", async () => {
    const failing = counting({ opened: 0, closed: 0 }, { delete: async () => ({ deleted: [], keptFor: [] }) });
    const failure = await run("a thread that never was cannot be deleted", { open: failing }).catch((error) => error);
    expect(failure).toBeInstanceOf(ContractFailure);
    expect(failure).toMatchObject({
      message: 'deleted: expected false, got {"deleted":[],"keptFor":[]}',
      expected: false,
    });
  });

  test("with random cases names its seed, and the same seed gives the same failure", async () => {
    const open = counting({ opened: 0, closed: 0 }, { read: async function* () {} });
    const failing = async (seed?: number): Promise<string> =>
      run("a range of any thread is what the array says", { open, seed }).then(
        () => "",
        ({ message }) => message,
      );
    const message = await failing();
    const seed = Number(/\{ seed: (\d+) \}/.exec(message)?.[1]);
    expect(Number.isInteger(seed)).toBe(true);
    expect(await failing(seed)).toBe(message);
    expect(await failing(seed + 1)).not.toBe(message);
  });

  test("that hangs is ended", async () => {
    const hanging = counting({ opened: 0, closed: 0 }, { load: () => new Promise(() => {}) });
    const running = run("a thread is loaded whole", { open: hanging, timeoutMs: 50 });
    await expect(running).rejects.toThrow("did not end within 50 ms");
  });

  test("of a store that does not open fails", async () => {
    const closed = () => Promise.reject(new Error("no such database"));
    await expect(run("a thread is loaded whole", { open: closed })).rejects.toThrow("no such database");
  });
});

function inOneDatabase(): (options: OpenStoreOptions) => ThreadStore {
  const database = new MemoryDatabase();
  return (options) => memoryStore({ ...options, database });
}

async function run(name: string, subject: StoreSubject): Promise<void> {
  const found = storeContract(subject).find((one) => one.name === name);
  if (found === undefined) throw new Error(`there is no case "${name}"`);
  await found.run();
}

/** Handles that are counted, with some methods of one's own. */
function counting(handles: { opened: number; closed: number }, own: Partial<ThreadStore> = {}) {
  const openSound = inOneDatabase();
  return (options: OpenStoreOptions): ThreadStore => {
    const store = openSound(options);
    handles.opened++;
    const close = async () => {
      handles.closed++;
      await store.close();
    };
    return replacing(store, { ...own, close });
  };
}

function replacing(store: ThreadStore, own: Partial<ThreadStore>): ThreadStore {
  return new Proxy(store, {
    get(target, name) {
      if (Object.hasOwn(own, name)) return Reflect.get(own, name);
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
