import type { StoredRow } from "./stored-records.ts";

type Texts = Pick<StoredRow, "refs" | "payload">;

/** The ids of request and run, as refs begin and payloads end with them when the runtime wrote the entry. */
const IDS = /^\{("requestId":"[\w-]+","runId":"[\w-]+")[,}]/;

/** The texts for a database: ids that the payload repeats are only in the refs, which then begin with a space. */
export function leaveOutIds({ refs, payload }: Texts): Texts {
  const ids = IDS.exec(refs)?.[1];
  if (ids === undefined || payload === null || !payload.endsWith(`,${ids}}`)) return { refs, payload };
  return { refs: ` ${refs}`, payload: `${payload.slice(0, -ids.length - 2)}}` };
}

/** The reverse. Damaged refs stay as they are, so that the hash of their row reports them. */
export function putBackIds(stored: Texts): Texts {
  if (!stored.refs.startsWith(" ")) return stored;
  const refs = stored.refs.slice(1);
  const ids = IDS.exec(refs)?.[1];
  if (ids === undefined) return stored;
  return { refs, payload: stored.payload && `${stored.payload.slice(0, -1)},${ids}}` };
}
