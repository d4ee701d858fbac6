import { startStudio } from "heddle/studio";
import type { Page } from "playwright-core";
import { launch } from "../../tests/browser/support/browser.ts";
import { findBrowser } from "../../tests/browser/support/find-browser.ts";
import { median, percentile } from "../support/statistics.ts";
import type { Row, Table } from "../support/table.ts";
import { showSize } from "../support/units.ts";
import type { Bench } from "./bench.ts";
import { dragged, edited, fetched, jumped, wheeled } from "./in-page.ts";
import { LONG, SHORT } from "./stores.ts";
import { type Longest, watched } from "./tasks.ts";

/** The page in a real Chromium on a very long thread. */
export async function page({ sizes, budgets, long }: Bench): Promise<Table> {
  const { short, long: length, jumps, frames } = sizes;
  const title = `The page in Chromium: ${jumps} jumps, ${frames} frames of scrolling`;
  const { path, why = "" } = findBrowser();
  if (path === undefined) {
    return { id: "page", title, columns: [], rows: [{ name: "all of it", values: {}, unavailable: why }] };
  }
  const studio = await startStudio({ store: long, port: 0, label: "bench" });
  const browser = await launch(path);
  const { origin } = new URL(studio.url);
  try {
    const tab = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    await tab.addInitScript((token) => localStorage.setItem("heddle.token", token), studio.token);
    const measure = async (id: string, entries: number): Promise<Measured> => {
      await tab.goto(`${origin}/#/t/${id}/timeline`);
      await tab.locator(`#row-${entries - 1} .text`).waitFor();
      const seqs = Array.from({ length: jumps }, (_, n) => spread(n, entries));
      const times: number[] = [];
      const baseline: number[] = [];
      for (const seq of seqs) {
        baseline.push(await tab.evaluate(fetched, { id, from: Math.max(0, spread(seq, entries) - 200) }));
        times.push(await tab.evaluate(jumped, seq));
      }
      const wheel = await watched(tab, () => tab.evaluate(wheeled, frames));
      const drag = await watched(tab, () => tab.evaluate(dragged, frames));
      const what = await whatIf(tab, `${origin}/#/t/${id}/what-if/${entries - 2}`);
      return { times, baseline, frames: wheel.result, wheel: wheel.longest, drag: drag.longest, what };
    };
    const few = await measure(SHORT, short);
    const many = await measure(LONG, length);
    return {
      id: "page",
      title,
      columns: [
        { key: "jump", label: "jump p50", unit: "time" },
        { key: "jumpMost", label: "p95", unit: "time" },
        { key: "baseline", label: "bare window", unit: "time" },
        { key: "frame", label: "frame p50", unit: "time" },
        { key: "task", label: "longest task", unit: "time" },
        { key: "taskClock", label: "by the clock", unit: "time" },
        { key: "dragTask", label: "dragging", unit: "time" },
        { key: "dragClock", label: "by the clock", unit: "time" },
        { key: "what", label: "what-if", unit: "time" },
      ],
      rows: [rowOf(short, few), rowOf(length, many)],
      checks: [
        budgets.atMost("jumpMilliseconds", percentile(many.times, 1), {
          what: "the longest jump to any entry",
          unit: "ms",
        }),
        budgets.atMost("longestTaskMilliseconds", Math.max(many.wheel.processor, many.drag.processor), {
          what: "the longest task while scrolling, in processor time",
          unit: "ms",
        }),
        budgets.atMost("whatIfMilliseconds", median(many.what), {
          what: "from a change of the policy to its effect",
          unit: "ms",
        }),
      ],
      notes: [
        "A jump is timed from the wish to the row that is drawn with its words; a bare window is the same entries fetched and parsed.",
        "The longest task is in time of the processor; by the clock it has the time of others in it where the machine is busy.",
        "Dragging takes the scroll bar from one end to the other, while a longest task stands for scrolling by some rows a frame.",
      ],
    };
  } finally {
    await browser.close();
    await studio.stop();
  }
}

interface Measured {
  readonly times: readonly number[];
  readonly baseline: readonly number[];
  readonly frames: readonly number[];
  readonly wheel: Longest;
  readonly drag: Longest;
  readonly what: readonly number[];
}

async function whatIf(tab: Page, url: string): Promise<readonly number[]> {
  await tab.goto(url);
  await tab.getByText("projected here in").waitFor();
  const times: number[] = [];
  for (let n = 0; n < 12; n++) times.push(await tab.evaluate(edited, n % 2 === 0 ? 4000 : 8000));
  return times;
}

function rowOf(entries: number, { times, baseline, frames, wheel, drag, what }: Measured): Row {
  return {
    name: `${showSize(entries)} entries`,
    values: {
      jump: median(times),
      jumpMost: percentile(times, 0.95),
      baseline: median(baseline),
      frame: median(frames),
      task: wheel.processor,
      taskClock: wheel.clock,
      dragTask: drag.processor,
      dragClock: drag.clock,
      what: median(what),
    },
  };
}

/** All over a thread, the same in every run. */
function spread(n: number, length: number): number {
  return Math.floor((((n + 1) * 0.618_033_988_75) % 1) * length);
}
