/** Fixed tables for the tools of the demo. */
export const CITIES = {
  Berlin: { country: "Germany", population: 3_700_000, river: "Spree" },
  Cairo: { country: "Egypt", population: 10_200_000, river: "Nile" },
  Lima: { country: "Peru", population: 10_000_000, river: "Rímac" },
  Lisbon: { country: "Portugal", population: 545_000, river: "Tagus" },
  Oslo: { country: "Norway", population: 717_000, river: "Akerselva" },
  Paris: { country: "France", population: 2_100_000, river: "Seine" },
  Tokyo: { country: "Japan", population: 14_000_000, river: "Sumida" },
} as const;

export const WEATHER = {
  Berlin: { sky: "cloudy", celsius: 14 },
  Cairo: { sky: "sunny", celsius: 33 },
  Lima: { sky: "foggy", celsius: 19 },
  Lisbon: { sky: "sunny", celsius: 24 },
  Oslo: { sky: "rainy", celsius: 9 },
  Paris: { sky: "windy", celsius: 17 },
  Tokyo: { sky: "clear", celsius: 22 },
} as const;

/** Prices in euros. */
export const PRICES = { apple: 0.5, book: 18, coffee: 3.2, lamp: 42, shuttle: 7.5, wool: 12 } as const;

/** The row of a name; upper and lower case are the same. */
export function lookUp<Table extends object>(table: Table, name: string): Table[keyof Table] | undefined {
  const key = Object.keys(table).find((one) => one.toLowerCase() === name.trim().toLowerCase());
  return key === undefined ? undefined : table[key as keyof Table]; // one of its own keys
}

/** The names of a table that a text mentions, in the order of the text. */
export function namesIn(table: object, text: string): readonly string[] {
  const lower = text.toLowerCase();
  return Object.keys(table)
    .map((name) => ({ name, at: lower.search(new RegExp(`\\b${name.toLowerCase()}s?\\b`)) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at)
    .map(({ name }) => name);
}
