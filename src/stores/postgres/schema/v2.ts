/** The second schema, decided in docs/decisions/0013. It may grow until the first release with it. */
export const V2 = `
create index threads_by_creation on threads (tenant, created_at desc, id);
`;
