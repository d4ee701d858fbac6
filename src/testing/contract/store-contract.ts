import { appendCases, revisionCases } from "./append-cases.ts";
import { blobCases, blobUseCases } from "./blob-cases.ts";
import { busCases } from "./bus-cases.ts";
import { type ContractCase, type ContractTests, runCase, type StoreSubject } from "./case-fixture.ts";
import { claimCases, processCases } from "./claim-cases.ts";
import { concurrencyCases, retryCases } from "./concurrency-cases.ts";
import { contentCases, payloadCases } from "./content-cases.ts";
import { feedCases, handleCases } from "./feed-cases.ts";
import { forkCases } from "./fork-cases.ts";
import { consumeCases, inboxCases, outcomeCases } from "./inbox-cases.ts";
import { counterCases, leaseCases } from "./lease-cases.ts";
import { lifetimeCases } from "./lifetime-cases.ts";
import { listCases, pageCases } from "./list-cases.ts";
import { baseCases, loadCases } from "./load-cases.ts";
import { nameCases, tenantCases } from "./name-cases.ts";
import { filterCases, ownerCases } from "./owner-cases.ts";
import { readCases, watchCases } from "./read-cases.ts";
import { recordCases, saveCases } from "./record-cases.ts";
import { runnableCases } from "./runnable-cases.ts";
import { signalCases } from "./signal-cases.ts";
import { sumCases } from "./sum-cases.ts";
import { timeCases } from "./time-cases.ts";
import { usageCases } from "./usage-cases.ts";
import { waitingCases } from "./waiting-cases.ts";

/** The group of cases that need `spawn`. */
const PROCESSES = "processes";

/** The groups of cases that need `openDatabase`. */
const DATABASES: Readonly<Record<string, ContractTests>> = {
  lease: leaseCases,
  counter: counterCases,
  runnable: runnableCases,
  waiting: waitingCases,
  handle: handleCases,
};

const GROUPS: Readonly<Record<string, ContractTests>> = {
  append: appendCases,
  revision: revisionCases,
  retry: retryCases,
  concurrency: concurrencyCases,
  content: contentCases,
  name: nameCases,
  payload: payloadCases,
  load: loadCases,
  base: baseCases,
  read: readCases,
  watch: watchCases,
  feed: feedCases,
  fork: forkCases,
  save: saveCases,
  time: timeCases,
  owner: ownerCases,
  usage: usageCases,
  list: listCases,
  filter: filterCases,
  sum: sumCases,
  page: pageCases,
  record: recordCases,
  blob: blobCases,
  "blob use": blobUseCases,
  claim: claimCases,
  inbox: inboxCases,
  consume: consumeCases,
  outcome: outcomeCases,
  signal: signalCases,
  bus: busCases,
  tenant: tenantCases,
  life: lifetimeCases,
  [PROCESSES]: processCases,
  ...DATABASES,
};

/**
 * Returns every requirement of ThreadStore as a test case, for any test runner. Cases are independent and close the
 * stores that they open. Each uses its own tenant, so the database may be shared and may contain data.
 * @example
 * const database = new MemoryDatabase();
 * const open = (options: OpenStoreOptions) => memoryStore({ ...options, database });
 * for (const { name, run, skip } of storeContract({ open })) test(name, { skip }, run);
 */
export function storeContract(subject: StoreSubject): readonly ContractCase[] {
  const cases = Object.entries(GROUPS).flatMap(([group, tests]) =>
    Object.entries(tests).map(([name, test]): ContractCase => {
      const reason = subject.skip?.[name] ?? missingPart(subject, group);
      return { name, group, run: () => runCase(subject, test), ...(reason !== undefined && { skip: reason }) };
    }),
  );
  checkSkips(subject.skip ?? {}, new Set(cases.map(({ name }) => name)));
  return cases;
}

/** Why the cases of this group cannot run. */
function missingPart({ spawn, openDatabase }: StoreSubject, group: string): string | undefined {
  if (group === PROCESSES && spawn === undefined) return "no spawn given";
  return group in DATABASES && openDatabase === undefined ? "no openDatabase given" : undefined;
}

function checkSkips(skip: Readonly<Record<string, string>>, names: ReadonlySet<string>): void {
  for (const [name, reason] of Object.entries(skip)) {
    if (!names.has(name)) throw new TypeError(`skip names ${JSON.stringify(name)}, but no case has this name.`);
    if (typeof reason !== "string" || reason.trim() === "")
      throw new TypeError(`Give a reason for skipping ${JSON.stringify(name)}: a skip needs a text.`);
  }
}
