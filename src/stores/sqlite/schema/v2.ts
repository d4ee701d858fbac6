/** The second schema, decided in docs/decisions/0013. It may grow until the first release with it. */
export const V2 = `
CREATE INDEX threads_by_update ON threads (tenant, updated_at DESC, id);
CREATE INDEX threads_by_creation ON threads (tenant, created_at DESC, id);
`;
