/** Roughly: no provider counts so, but all that matters here is that longer is more. */
export function tokensOf(text: string): number {
  return Math.floor(Buffer.byteLength(text) / 4);
}
