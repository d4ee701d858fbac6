/** Models give one id to several calls; together with the answer that made it, it names one. */
export function approvalIdOf(callId: string | undefined, toolCallId = ""): string {
  return `${callId ?? ""}:${toolCallId}`;
}
