// Functions that run in the page. Each is sent there as text, so it uses no other code.

/** As much of the DOM as is used here: the rest of the bench runs where there is none. */
interface Box {
  scrollTop: number;
  readonly scrollHeight: number;
  readonly textContent: string;
  scrollBy(x: number, y: number): void;
}
interface Field extends Box {
  value: string;
  readonly form: { requestSubmit(): void } | null;
  dispatchEvent(event: Event): boolean;
}
declare const document: { querySelector<Found extends Box>(selector: string): Found | null };
declare const requestAnimationFrame: (next: (now: number) => void) => number;

/** Jumps to an entry as a user does, and waits until its row shows the text. */
export async function jumped(seq: number): Promise<number> {
  const field = document.querySelector<Field>("#jump");
  if (field === null) throw new Error("There is no field to jump with.");
  field.value = String(seq);
  const started = performance.now();
  field.form?.requestSubmit();
  while (document.querySelector(`#row-${seq} .text`) === null) {
    await new Promise(requestAnimationFrame);
    if (performance.now() - started > 10_000) throw new Error(`Entry ${seq} never came.`);
  }
  return performance.now() - started;
}

/** The least that a jump takes: a window of entries, fetched and parsed. */
export async function fetched({ id, from }: { readonly id: string; readonly from: number }): Promise<number> {
  const headers = { authorization: `Bearer ${localStorage.getItem("heddle.token")}` };
  const started = performance.now();
  await (await fetch(`/api/threads/${id}/entries?from=${from}&to=${from + 199}`, { headers })).json();
  return performance.now() - started;
}

/** Scrolls up by some rows each frame; answers the milliseconds between frames. */
export async function wheeled(frames: number): Promise<readonly number[]> {
  const box = document.querySelector(".virtual");
  if (box === null) throw new Error("There is nothing to scroll.");
  const times: number[] = [];
  for (let frame = 0, last = performance.now(); frame < frames; frame++) {
    box.scrollBy(0, -120);
    await new Promise(requestAnimationFrame);
    times.push(performance.now() - last);
    last = performance.now();
  }
  await new Promise((resolve) => setTimeout(resolve, 300));
  return times;
}

/** Drags the scroll bar from the one end to the other. */
export async function dragged(frames: number): Promise<readonly number[]> {
  const box = document.querySelector(".virtual");
  if (box === null) throw new Error("There is nothing to scroll.");
  const times: number[] = [];
  for (let frame = 1, last = performance.now(); frame <= frames; frame++) {
    box.scrollTop = (box.scrollHeight * frame) / frames;
    await new Promise(requestAnimationFrame);
    times.push(performance.now() - last);
    last = performance.now();
  }
  await new Promise((resolve) => setTimeout(resolve, 300));
  return times;
}

/** Changes the policy, until what would be shown is another. */
export async function edited(tokens: number): Promise<number> {
  const field = document.querySelector<Field>("#policy-maxInputTokens");
  const figures = document.querySelector(".figures");
  if (field === null || figures === null) throw new Error("There is no policy to change.");
  const before = figures.textContent;
  const started = performance.now();
  field.value = String(tokens);
  field.dispatchEvent(new Event("input", { bubbles: true }));
  while (document.querySelector(".figures")?.textContent === before) {
    await new Promise(requestAnimationFrame);
    if (performance.now() - started > 10_000) throw new Error("Nothing changed.");
  }
  return performance.now() - started;
}
