/** How long a soak test may go on: the tests of this folder share HEDDLE_SOAK_MINUTES, ten unless it says otherwise. */
const TESTS = 16;

export function shareOfTheTimeMs(): number {
  const minutes = Number(process.env["HEDDLE_SOAK_MINUTES"] ?? 10);
  if (!(minutes > 0)) throw new Error("HEDDLE_SOAK_MINUTES must be a number above 0");
  return (minutes * 60_000) / TESTS;
}

/** Does it again and again until the test's share of the time is over. */
export async function again(work: (round: number) => Promise<unknown>): Promise<void> {
  const end = performance.now() + shareOfTheTimeMs();
  let round = 0;
  do await work(round++);
  while (performance.now() < end);
}
