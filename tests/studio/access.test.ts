import { describe, expect, test } from "vitest";
import { Access, guard } from "../../src/studio/http/guard.ts";

const TOKEN = "a-token-of-our-own";
const JSON_TYPE = { "content-type": "application/json" };
const ORIGIN = "http://127.0.0.1:4000";

/** The code of the refusal, or "passed". */
function guarded(access: Access | undefined, path: string, init: RequestInit = {}): string {
  const request = new Request(`${ORIGIN}${path}`, init);
  try {
    guard(request, new URL(request.url), { access });
    return "passed";
  } catch (error) {
    return String(Reflect.get(error as object, "code"));
  }
}

describe("without a token", () => {
  test("everything passes where none is required", () => {
    expect(guarded(undefined, "/api/info")).toBe("passed");
  });

  test("the page and the exchange of a code pass, and nothing else of the API", () => {
    const access = new Access(TOKEN);
    expect(guarded(access, "/")).toBe("passed");
    expect(guarded(access, "/api/enter", { method: "POST", headers: JSON_TYPE })).toBe("passed");
    expect(guarded(access, "/api/enter")).toBe("unauthorized");
    expect(guarded(access, "/api/enter/more", { method: "POST" })).toBe("unauthorized");
    expect(guarded(access, "/api/info", { method: "POST" })).toBe("unauthorized");
  });

  test("a code opens the export of a thread with GET, and no other path", () => {
    const access = new Access(TOKEN);
    const code = access.mintCode();
    for (const path of ["/api/x/api/threads/t/export", "/api/threads/t/exported", "/api/threads/t/u/export"]) {
      expect(guarded(access, `${path}?code=${code}`), path).toBe("unauthorized");
    }
    expect(guarded(access, `/api/threads/t/export?code=${code}`, { method: "POST" })).toBe("unauthorized");
    expect(guarded(access, "/api/threads/t/export")).toBe("unauthorized");
    expect(guarded(access, "/api/threads/t/export?code=wrong")).toBe("unauthorized");
    expect(guarded(access, `/api/threads/t/export?code=${code}`)).toBe("passed");
  });
});

test("the token is taken from a Bearer header in any case, and from no other scheme", () => {
  const access = new Access(TOKEN);
  const given = (authorization: string) => guarded(access, "/api/info", { headers: { authorization } });
  expect([given(`Bearer ${TOKEN}`), given(`bearer ${TOKEN}`)]).toEqual(["passed", "passed"]);
  for (const authorization of [`Basic Bearer ${TOKEN}`, `Bearer ${TOKEN}x`, `Bearer x${TOKEN}`, TOKEN, "Bearer"]) {
    expect(given(authorization), authorization).toBe("unauthorized");
  }
});

test("a thousand codes are kept, and the oldest is dropped first", () => {
  const access = new Access(TOKEN);
  const codes = Array.from({ length: 1000 }, () => access.mintCode());
  const [first = "", second = "", third = ""] = codes;
  expect(access.redeem(first)).toBe(true);
  expect(access.redeem(first)).toBe(false);
  const [fresh] = [access.mintCode(), access.mintCode()];
  expect(access.redeem(second)).toBe(false);
  expect([access.redeem(third), access.redeem(fresh ?? "")]).toEqual([true, true]);
});
