import type { Page } from "playwright-core";

/** The longest of the tasks that a page did meanwhile, in milliseconds. */
export interface Longest {
  /** By the clock, in which the time of others is too where the machine is busy. */
  readonly clock: number;
  /** Of the processor. */
  readonly processor: number;
}

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly dur?: number;
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

/** Does something while Chromium writes down what keeps the thread of the page. */
export async function watched<Result>(
  tab: Page,
  act: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly longest: Longest }> {
  const session = await tab.context().newCDPSession(tab);
  const events: TraceEvent[] = [];
  session.on("Tracing.dataCollected", ({ value }) => events.push(...(value as unknown as TraceEvent[]))); // its documented form
  const ended = new Promise<unknown>((resolve) => session.once("Tracing.tracingComplete", resolve));
  const traceConfig = { includedCategories: ["toplevel", "__metadata"] };
  await session.send("Tracing.start", { transferMode: "ReportEvents", traceConfig });
  const result = await act();
  await session.send("Tracing.end");
  await ended;
  await session.detach();
  return { result, longest: longestOf(events) };
}

function longestOf(events: readonly TraceEvent[]): Longest {
  const threadOf = ({ pid, tid }: TraceEvent): string => `${pid}/${tid}`;
  const names = events.filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain");
  const pages = new Set(names.map(threadOf));
  const tasks = events.filter((event) => event.ph === "X" && /RunTask$/.test(event.name) && pages.has(threadOf(event)));
  const most = (of: (event: TraceEvent) => number | undefined): number =>
    tasks.reduce((longest, event) => Math.max(longest, of(event) ?? 0), 0) / 1000;
  return { clock: most(({ dur }) => dur), processor: most(({ tdur }) => tdur) };
}
