/** A summary as the model reads it. */
export function summaryText(content: string): string {
  return `Summary of earlier conversation:\n${content}`;
}
