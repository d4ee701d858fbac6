import type { Answers, ThreadRow } from "heddle/studio";
import { expectTypeOf, test } from "vitest";
import { type Answer, json } from "../../src/studio/http/reply.ts";
import type { Run } from "../../src/studio/http/router.ts";

type Handler<Name extends keyof Answers> = Run<Answer<Answers[Name]>>;

test("a handler that answers anything but what its route promises does not compile", () => {
  expectTypeOf<Handler<"POST /api/threads">>().toEqualTypeOf<Run<Answer<ThreadRow>>>();
  const less = async () => json({ id: "thread_1" });
  // @ts-expect-error the row lacks its title
  const handler: Handler<"POST /api/threads"> = less;
  void handler;
  // @ts-expect-error a field that nobody knows of
  json<Answers["DELETE /api/threads/{id}"]>({ deleted: true, found: true });
});
