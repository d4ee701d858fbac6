/** Whether an IP address is none of the public internet: loopback, link-local, private, metadata, multicast, unspecified. */
export function isPrivateAddress(address: string): boolean {
  const text = address.split("%")[0]?.toLowerCase() ?? "";
  if (!text.includes(":")) return isPrivateV4(text);
  const groups = groupsOf(text);
  if (groups === undefined) return true; // what cannot be read is not trusted
  const [first = 0, second = 0] = groups;
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && (groups[5] === 0xffff || groups[5] === 0);
  const isTranslated = first === 0x64 && second === 0xff9b;
  if (isMapped || isTranslated) {
    const [high = 0, low = 0] = groups.slice(6);
    return isPrivateV4([high >> 8, high & 255, low >> 8, low & 255].join("."));
  }
  // Unique local, link-local, site-local, multicast, 6to4.
  return (
    (first & 0xfe00) === 0xfc00 ||
    (first & 0xffc0) === 0xfe80 ||
    (first & 0xffc0) === 0xfec0 ||
    first >= 0xff00 ||
    first === 0x2002
  );
}

function isPrivateV4(text: string): boolean {
  const parts = text.split(".").map(Number);
  const [a = 0, b = 0] = parts;
  if (parts.length !== 4 || parts.some((part) => !Number.isInteger(part) || part < 0 || part > 255)) return true;
  return (
    a === 0 ||
    a === 10 ||
    a === 127 ||
    a >= 224 ||
    (a === 100 && b >= 64 && b < 128) ||
    (a === 169 && b === 254) ||
    (a === 172 && b >= 16 && b < 32) ||
    (a === 192 && (b === 168 || b === 0)) ||
    (a === 198 && (b === 18 || b === 19))
  );
}

/** The eight groups of an IPv6 address. */
function groupsOf(text: string): readonly number[] | undefined {
  const v4 = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(text);
  const [, head = "", a, b, c, d] = v4 ?? [];
  const hex = (high: string | undefined, low: string | undefined): string =>
    ((Number(high) << 8) | Number(low)).toString(16);
  const whole = v4 === null ? text : `${head}${hex(a, b)}:${hex(c, d)}`;
  const [left = "", right, ...others] = whole.split("::");
  if (others.length > 0) return undefined;
  const numbers = (side: string): number[] =>
    side === "" ? [] : side.split(":").map((group) => Number.parseInt(group, 16));
  const [start, end] = [numbers(left), numbers(right ?? "")];
  const zeros = right === undefined ? 0 : 8 - start.length - end.length;
  const groups = [...start, ...Array.from({ length: Math.max(0, zeros) }, () => 0), ...end];
  return groups.length === 8 && groups.every((group) => group >= 0 && group <= 0xffff) ? groups : undefined;
}
