/**
 * The index key of a request id: the first 64 characters of its JSON text. A pattern reads it, because a JSON function would
 * fail on damaged refs. In JSON text, a quote directly behind a brace or comma is never inside a string.
 */
const REQUEST_KEY = String.raw`left(substring(refs from '[{,]"requestId":("(?:[^"\\]|\\.)*"|[^,}]*)'), 64)`;

/** Equal to the expression of the index, so that Postgres uses it. */
export const REQUEST_KEY_OF_ENTRY = REQUEST_KEY.replace("refs", "e.refs");

/** The second schema, decided in docs/decisions/0013. It may grow until the first release with it. */
export const V2 = `
create index threads_by_creation on threads (tenant, created_at desc, id);

-- The entries of one request. Without seq, so that Postgres stores the key of a request once. Others are not in it.
create index entries_by_request on entries (thread, (${REQUEST_KEY})) where ${REQUEST_KEY} is not null;
`;
