import type { FileContentPart } from "heddle/core";
import { toAISDKPrompt, toAnthropic, toGemini, toModelPrompt, toOpenAIChat, toOpenAIResponses } from "heddle/providers";
import { describe, expect, test } from "vitest";
import { pixel, user } from "./support/messages.ts";

/** How the bytes of an image in the format HEIC begin. */
const HEIC = btoa(String.fromCharCode(0, 0, 0, 24, 102, 116, 121, 112, 104, 101, 105, 99));
const PIXEL = "base64" in pixel.data ? pixel.data.base64 : "";

const FORMATTERS = {
  "openai-chat": toOpenAIChat,
  "openai-responses": toOpenAIResponses,
  anthropic: toAnthropic,
  gemini: toGemini,
};
const PACKAGES = {
  "openai-chat": "openai-chat",
  "openai-responses": "openai",
  anthropic: "anthropic",
  gemini: "google",
} as const;

function file(mediaType: string, base64 = "aGVsbG8="): FileContentPart {
  return { type: "file", mediaType, filename: "a.bin", data: { base64 } };
}

/** Whether a file is sent: over the wire, to a package of the AI SDK, and by `generateText`. */
function sent(api: keyof typeof FORMATTERS, part: FileContentPart): readonly boolean[] {
  const messages = [user([{ type: "text", text: "See." }, part])];
  const provider = PACKAGES[api];
  const texts = [
    FORMATTERS[api](messages),
    toAISDKPrompt(messages, { provider }),
    toModelPrompt(messages, { provider }),
  ];
  return texts.map((made) => !JSON.stringify(made).includes("that cannot be shown here"));
}

const YES = [true, true, true];
const NO = [false, false, false];

describe.each([
  ["openai-chat", "png jpeg jpg gif webp"],
  ["openai-responses", "png jpeg jpg gif webp"],
  ["anthropic", "png jpeg jpg gif webp"],
  ["gemini", "png jpeg jpg webp heic heif"],
] as const)("%s", (api, taken) => {
  test.each(["png", "jpeg", "jpg", "gif", "webp", "heic", "heif", "svg+xml", "bmp", "tiff", "avif"])(
    "an image of type %s is sent if the API takes it; else a short text is",
    (subtype) => {
      expect(sent(api, file(`image/${subtype}`))).toEqual(taken.split(" ").includes(subtype) ? YES : NO);
    },
  );

  test("an archive is sent to none", () => {
    expect(sent(api, file("application/zip"))).toEqual(NO);
  });

  test("the bytes say what an image without a subtype is", () => {
    for (const open of ["image", "image/*"]) {
      expect(sent(api, file(open, PIXEL))).toEqual(YES);
      expect(sent(api, file(open, HEIC))).toEqual(api === "gemini" ? YES : NO);
      expect(sent(api, file(open))).toEqual(NO);
      expect(JSON.stringify(FORMATTERS[api]([user([file(open, PIXEL)])]))).toContain("image/png");
    }
  });

  test("an image is sent as the type that its bytes have", () => {
    expect(JSON.stringify(FORMATTERS[api]([user([file("image/jpeg", PIXEL)])]))).toContain("image/png");
  });

  test("image/jpg is sent under its real name", () => {
    const messages = [user([file("image/jpg")])];
    const texts = [FORMATTERS[api](messages), toAISDKPrompt(messages, { provider: PACKAGES[api] })];
    for (const made of texts) expect(JSON.stringify(made)).toContain("image/jpeg");
  });
});

test("the server of an image's URL knows its type, which only Gemini's API wants before", () => {
  const image: FileContentPart = { type: "file", mediaType: "image/*", data: { url: "https://example.com/a" } };
  for (const api of ["openai-chat", "openai-responses", "anthropic"] as const) expect(sent(api, image)).toEqual(YES);
  expect(sent("gemini", image)).toEqual([false, true, true]);
});

test("without a provider, every file is sent", () => {
  const messages = [user([file("image/heic"), file("application/zip")])];
  expect(JSON.stringify(toAISDKPrompt(messages)).match(/"type":"file"/g)).toHaveLength(2);
});

test("a text file of a result is text for Anthropic's package, which would leave it out", () => {
  const call = { id: "call_1", name: "read", arguments: {} };
  const messages = [
    user("Read."),
    { role: "assistant", content: "", toolCalls: [call] },
    { role: "tool", toolCallId: call.id, name: call.name, content: [file("text/plain")] },
  ] as const;
  const value = (provider?: "anthropic") => {
    const output = toAISDKPrompt(messages, { provider }).flatMap(({ role, content }) =>
      role === "tool" ? content.map((part) => part.output) : [],
    );
    return output[0]?.type === "content" ? output[0].value : undefined;
  };
  expect(value("anthropic")).toEqual([{ type: "text", text: "hello" }]);
  expect(value()).toMatchObject([{ type: "file", mediaType: "text/plain" }]);
});

test("a text file that is not taken is its text, which also counts in the budget", () => {
  const table = { type: "file", filename: "a.csv", data: { base64: btoa("city,sun") } } as const;
  for (const mediaType of ["text/csv", "application/json", "application/ld+json", "application/yaml"]) {
    const [message] = toAnthropic([user([{ ...table, mediaType }])]).messages;
    expect(message?.content).toEqual([{ type: "text", text: `[a.csv, ${mediaType}]\ncity,sun` }]);
  }
  for (const data of [{ base64: btoa("\xff\xfe") }, { url: "https://example.com/a.csv" }]) {
    const file: FileContentPart = { ...table, mediaType: "text/csv", data };
    expect(JSON.stringify(toAnthropic([user([file])]))).toContain("that cannot be shown here");
  }
});

describe.each(["", "🙂".repeat(600)])("a PDF with the odd name %j", (filename) => {
  const messages = [
    user([
      { type: "text", text: "See." },
      { ...file("application/pdf"), filename },
    ]),
  ];

  test("has no empty name and no longer one than Anthropic takes, on every wire", () => {
    for (const api of ["openai-chat", "openai-responses", "anthropic", "gemini"] as const) {
      const provider = PACKAGES[api];
      const options = { provider };
      for (const made of [
        FORMATTERS[api](messages),
        toAISDKPrompt(messages, options),
        toModelPrompt(messages, options),
      ])
        JSON.stringify(made, (key, value: unknown) => {
          if (key !== "title" && key !== "filename") return value;
          expect(String(value).length).toBeGreaterThan(0);
          expect(String(value).length).toBeLessThanOrEqual(500);
          expect(String(value).isWellFormed()).toBe(true);
          return value;
        });
    }
  });

  test("has the beginning of its name as the title for Anthropic, or none", () => {
    const [{ content } = { content: [] }] = toAnthropic(messages).messages;
    const title = filename === "" ? undefined : filename.slice(0, 500);
    expect(content).toMatchObject([{ type: "text" }, { type: "document", ...(title && { title }) }]);
    expect(JSON.stringify(content).includes('"title"')).toBe(title !== undefined);
  });
});
