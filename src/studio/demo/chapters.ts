/** The parts of the demo's long story. It is long enough that a small window needs a summary. */
const SCENES = [
  ["the first loom", "two trees, a beam between them, and stones that kept the warp tight"],
  ["the heddle", "a row of loops that lifts every other thread at once, so that the hand need not"],
  ["the shuttle", "a small boat that carries the weft through the shed and back"],
  ["the drawboy", "a child on top of the loom who pulled cords all day to make a pattern"],
  ["the punched card", "a chain of cards that chose the threads to lift, pass after pass"],
  ["the power loom", "a belt from a wheel in the river, and a hall that never fell silent"],
  ["the sampler", "a strip of cloth on which a weaver kept every pattern worth remembering"],
  ["the archive", "a room of bolts, each with a label that says what was woven and when"],
] as const;

const TELLING = [
  (name: string, what: string) => `This chapter is about ${name}: ${what}.`,
  (name: string) => `No one wrote down where ${name} was thought of first, and every valley says that it was theirs.`,
  (_: string, what: string) =>
    `Picture it once more, slowly: ${what}. That is all there is to it, and it changed the day of everyone who had to wear something.`,
  (name: string) =>
    `Before ${name} a weaver counted threads aloud; afterwards the counting was in the tool, and the weaver could think of the pattern instead.`,
  (name: string) =>
    `An old account book lists what ${name} cost: three days of bread, a length of good linen, and a promise to teach the neighbor's daughter.`,
  (_: string, what: string) =>
    `Visitors wrote home about ${what}, and got half of it wrong, and the wrong half is what most people remember.`,
  (name: string) =>
    `What broke most often was not ${name} itself but the knots around it, so a good workshop was known by its knots.`,
  (name: string) =>
    `In winter the light was short and the work went on by ear: a weaver who knows the sound of ${name} hears at once that a thread is missing.`,
  (name: string) =>
    `And when the cloth was cut down, nothing of ${name} was to be seen in it, which is the point of a tool.`,
] as const;

/** The chapter of this number, from 1 on. After the last chapter they repeat. */
export function chapter(number: number): string {
  const [name, what] = SCENES[(number - 1) % SCENES.length] ?? SCENES[0];
  const told = TELLING.map((sentence) => sentence(name, what));
  const again = TELLING.slice(1, 7).map(
    (sentence) => `They say it in the next village too: ${sentence(`the cousin of ${name}`, what)}`,
  );
  return `**Chapter ${number}: ${name}**\n\n${told.join(" ")}\n\n${again.join(" ")}`;
}
