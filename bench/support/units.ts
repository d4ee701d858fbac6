/** How a column's numbers are printed. The numbers themselves keep the unit that is named here; "time" is in ms. */
export type Unit = "ns" | "us" | "ms" | "per second" | "times" | "time" | "bytes" | "count" | "share";

export function show(value: number | undefined, unit: Unit): string {
  if (value === undefined) return "";
  if (!Number.isFinite(value)) return "?";
  switch (unit) {
    case "ns":
    case "us":
    case "ms":
      return `${digits(value)} ${unit}`;
    case "per second":
      return `${digits(value)}/s`;
    case "times":
      return `${value.toFixed(2)}x`;
    case "time":
      return inTime(value);
    case "bytes":
      return inBytes(value);
    case "count":
      return grouped(Math.round(value));
    case "share":
      return value.toFixed(3);
  }
}

/** 1,000 as "1k" and 1,000,000 as "1M". */
export function showSize(count: number): string {
  if (count >= 1e6 && count % 1e5 === 0) return `${count / 1e6}M`;
  return count >= 1e3 && count % 100 === 0 ? `${count / 1e3}k` : String(count);
}

/** Three digits that mean something, and no more. */
function digits(value: number): string {
  if (value >= 100) return grouped(Math.round(value));
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** From milliseconds, in whatever unit is short. */
function inTime(ms: number): string {
  if (ms < 1) return `${digits(ms * 1000)} us`;
  return ms < 1000 ? `${digits(ms)} ms` : `${digits(ms / 1000)} s`;
}

function inBytes(value: number): string {
  if (value < 1e3) return `${Math.round(value)} B`;
  const [size, unit] = value < 1e6 ? [value / 1e3, "kB"] : value < 1e9 ? [value / 1e6, "MB"] : [value / 1e9, "GB"];
  return `${digits(size)} ${unit}`;
}

function grouped(value: number): string {
  return value.toLocaleString("en-US");
}
