import { appends } from "./contract/appends.ts";
import { bases } from "./contract/bases.ts";
import { claims } from "./contract/claims.ts";
import { concurrency } from "./contract/concurrency.ts";
import { contents } from "./contract/contents.ts";
import { feeds } from "./contract/feeds.ts";
import { forks } from "./contract/forks.ts";
import { lists } from "./contract/lists.ts";
import { lives } from "./contract/lives.ts";
import { loads } from "./contract/loads.ts";
import { names } from "./contract/names.ts";
import { pages } from "./contract/pages.ts";
import { payloads } from "./contract/payloads.ts";
import { processes } from "./contract/processes.ts";
import { reads } from "./contract/reads.ts";
import { records } from "./contract/records.ts";
import { retries } from "./contract/retries.ts";
import { revisions } from "./contract/revisions.ts";
import { saves } from "./contract/saves.ts";
import { tenants } from "./contract/tenants.ts";
import { watches } from "./contract/watches.ts";
import type { ContractCase, StoreSubject } from "./subject.ts";
import { play, type Stories } from "./world.ts";

/** Cases that need `spawn`. */
const PROCESSES = "processes";

const GROUPS: Readonly<Record<string, Stories>> = {
  append: appends,
  revision: revisions,
  retry: retries,
  concurrency: concurrency,
  content: contents,
  name: names,
  payload: payloads,
  load: loads,
  base: bases,
  read: reads,
  watch: watches,
  feed: feeds,
  fork: forks,
  save: saves,
  list: lists,
  page: pages,
  record: records,
  claim: claims,
  tenant: tenants,
  life: lives,
  [PROCESSES]: processes,
};

/**
 * Every promise of ThreadStore as a list of cases, for any test runner. Cases are independent and close what they open. Each
 * uses its own tenant, so the database may be shared and may contain data.
 *
 * @example
 * const database = new MemoryDatabase();
 * const open = (options: OpenStoreOptions) => memoryStore({ ...options, database });
 * for (const { name, run, skip } of storeContract({ open })) test(name, { skip }, run);
 */
export function storeContract(subject: StoreSubject): readonly ContractCase[] {
  const cases = Object.entries(GROUPS).flatMap(([group, stories]) =>
    Object.entries(stories).map(([name, story]): ContractCase => {
      const reason = subject.skip?.[name] ?? (group === PROCESSES && !subject.spawn ? "no spawn given" : undefined);
      return { name, group, run: () => play(subject, story), ...(reason !== undefined && { skip: reason }) };
    }),
  );
  checkSkips(subject.skip ?? {}, new Set(cases.map(({ name }) => name)));
  return cases;
}

function checkSkips(skip: Readonly<Record<string, string>>, names: ReadonlySet<string>): void {
  for (const [name, reason] of Object.entries(skip)) {
    if (!names.has(name)) throw new TypeError(`skip names ${JSON.stringify(name)}, but no case has this name.`);
    if (typeof reason !== "string" || reason.trim() === "")
      throw new TypeError(`Give a reason for skipping ${JSON.stringify(name)}: a skip needs a text.`);
  }
}
