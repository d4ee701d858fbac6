import type { ResponseBodies, ThreadRow } from "heddle/studio";
import { expectTypeOf, test } from "vitest";
import { type JsonResponse, json } from "../../src/studio/http/response.ts";
import type { RouteHandler } from "../../src/studio/http/router.ts";

type Handler<Name extends keyof ResponseBodies> = RouteHandler<JsonResponse<ResponseBodies[Name]>>;

test("a handler that answers another type than its route promises does not compile", () => {
  expectTypeOf<Handler<"POST /api/threads">>().toEqualTypeOf<RouteHandler<JsonResponse<ThreadRow>>>();
  const less = async () => json({ id: "thread_1" });
  // @ts-expect-error the row lacks its title
  const handler: Handler<"POST /api/threads"> = less;
  void handler;
  // @ts-expect-error a field that nobody knows of
  json<ResponseBodies["DELETE /api/threads/{id}"]>({ deleted: true, found: true });
});
