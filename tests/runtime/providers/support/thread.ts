/** The thread of every agent in these tests. */
export const THREAD = "t";
