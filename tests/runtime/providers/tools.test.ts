import { type AgentServer, content, type JsonObject } from "heddle";
import { describe, expect, test } from "vitest";
import { defineTool } from "../../../src/agent/definition/tool.ts";
import { EVERY_WAY, modelAt, WAYS } from "./support/models.ts";
import { expectAccepted, proveBodies, stage, told, WEATHER, weatherIn } from "./support/stage.ts";

/** One pixel. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Chat has a place for pictures in what the user says, and nowhere else. */
const CHAT = `{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,${PNG}"}}]}`;

const inputSchema = { type: "object", properties: { city: { type: "string" } } } as const;

describe.each(EVERY_WAY)("$api, $way", (setting) => {
  test("parallel calls are emitted in their order, whichever result comes first", async () => {
    const scene = await stage(setting);
    const gates = new Map(["Bern", "Basel", "Rome"].map((city) => [city, Promise.withResolvers<void>()]));
    const weather = defineTool({
      inputSchema,
      execute: async (input: unknown) => {
        const { city } = input as { readonly city: string };
        await gates.get(city)?.promise;
        return `Sunny in ${city}.`;
      },
    });
    scene.provider.answer(
      { text: "Three at once.", calls: [weatherIn("Bern"), weatherIn("Basel"), weatherIn("Rome")] },
      { text: "Sunny." },
    );
    const server = await scene.start({ tools: { weather } });
    const request = await server.ask("Weather?");
    for (const city of ["Rome", "Basel", "Bern"]) {
      gates.get(city)?.resolve();
      await committed(server, city);
    }
    await request.result;
    const completed = (await told(request)).flatMap((event) =>
      event.kind === "tool_completed" ? [event.data.content] : [],
    );
    expect(completed).toEqual(["Sunny in Bern.", "Sunny in Basel.", "Sunny in Rome."]);
    expect(citiesIn(scene.provider.requests[1]?.body)).toEqual(["Bern", "Basel", "Rome"]);
    expectAccepted(scene);
    expect(await proveBodies(scene)).toBe(2);
  });

  test("ids that a server gives twice, in one answer and in the next, name one call each", async () => {
    const scene = await stage(setting);
    scene.provider.answer(
      { calls: [weatherIn("Bern", "call_0"), weatherIn("Basel", "call_0")] },
      { calls: [weatherIn("Rome", "call_0")] },
      { calls: [weatherIn("Oslo", "call_0"), weatherIn("Bonn", "call_1")] },
      { text: "Sunny." },
    );
    const server = await scene.start();
    expect((await (await server.ask("Weather?")).result).text).toBe("Sunny.");
    expect(citiesIn(scene.provider.requests.at(-1)?.body)).toEqual(["Bern", "Basel", "Rome", "Oslo", "Bonn"]);
    expectAccepted(scene);
    expect(await proveBodies(scene)).toBe(4);
  });

  test("the model reads that a tool does not exist or that arguments are invalid, and continues", async () => {
    const scene = await stage(setting);
    // What Gemini calls with is JSON by its wire format.
    const broken = setting.api === "gemini" ? { town: "Bern" } : '{"city":"Be';
    scene.provider.answer(
      {
        calls: [
          { name: "wether", arguments: { city: "Bern" } },
          { name: "weather", arguments: broken },
          weatherIn("Basel"),
        ],
      },
      { text: "Sunny in Basel." },
    );
    const { execute } = WEATHER.weather;
    const checked = defineTool({
      inputSchema: {
        "~standard": {
          version: 1,
          vendor: "tests",
          validate: (value: unknown) =>
            typeof (value as JsonObject)?.["city"] === "string"
              ? { value: value as { readonly city: string } }
              : { issues: [{ message: "must be text", path: ["city"] }] },
          jsonSchema: { input: () => inputSchema, output: () => inputSchema },
        },
      },
      execute,
    });
    const server = await scene.start({ tools: { weather: checked } });
    const request = await server.ask("Weather?");
    expect((await request.result).text).toBe("Sunny in Basel.");
    const results = (await told(request)).flatMap((event) => (event.kind === "tool_completed" ? [event.data] : []));
    expect(results.map(({ isError }) => isError)).toEqual([true, true, false]);
    expect(JSON.stringify(results[0])).toContain("weather");
    expectAccepted(scene);
    expect(await proveBodies(scene)).toBe(2);
  });

  test("a picture that a tool gives is shown to the model", async () => {
    const scene = await stage(setting);
    const radar = defineTool({
      inputSchema,
      execute: async () =>
        content([
          { type: "text", text: "The radar:" },
          { type: "file", mediaType: "image/png", data: { base64: PNG } },
        ]),
    });
    scene.provider.answer({ calls: [{ name: "radar", arguments: { city: "Bern" } }] }, { text: "Clouds." });
    const server = await scene.start({ tools: { radar } });
    expect((await (await server.ask("Radar?")).result).text).toBe("Clouds.");
    expectAccepted(scene);
    const body = JSON.stringify(scene.provider.requests[1]?.body);
    expect(body).toContain("The radar:");
    const picture = { "openai-chat": CHAT, "openai-compatible": CHAT }[setting.api as string] ?? PNG;
    expect(body).toContain(picture);
    expect(await proveBodies(scene)).toBe(2);
  });
});

test.each(WAYS)("Gemini 2 gets one result for a call with several texts and files, $way", async ({ streaming }) => {
  const scene = await stage({ api: "gemini", streaming });
  const model = modelAt(scene.provider.url, "gemini", { name: "gemini-2.5-pro" });
  const text = (value: string) => ({ type: "text", text: value }) as const;
  const image = { type: "file", mediaType: "image/png", data: { base64: PNG } } as const;
  const archive = { type: "file", mediaType: "application/zip", filename: "a.zip", data: { base64: "AQID" } } as const;
  const results = [[text("One."), archive], [text("One."), text("Two."), image], [image]];
  const look = defineTool({ inputSchema, execute: async () => content(results.shift() ?? []) });
  const call = { name: "look", arguments: { city: "Bern" } };
  scene.provider.answer({ calls: [call] }, { calls: [call, call] }, { text: "Seen." }, { text: "Bye." });
  const server = await scene.start({ tools: { look }, model });
  expect((await (await server.ask("Look.")).result).text).toBe("Seen.");
  expect((await (await server.ask("Thanks")).result).text).toBe("Bye.");
  expect(scene.provider.requests.map(({ accepted }) => accepted)).toEqual([true, true, true, true]);
  const body = JSON.stringify(scene.provider.requests.at(-1)?.body);
  expect(body).toContain("One.\\n[A file (a.zip, application/zip) that cannot be shown here]");
  expect(body).toContain("One.\\nTwo.");
  expect(body.match(/"functionResponse"/g)).toHaveLength(3);
});

/** The cities of results, in the order of the body. */
function citiesIn(body: JsonObject | undefined): readonly string[] {
  return [...JSON.stringify(body).matchAll(/Sunny in (\w+)\./g)].map(([, city = ""]) => city);
}

/** Resolves when the result is in the log. */
async function committed(server: AgentServer, city: string): Promise<void> {
  while (!JSON.stringify((await server.thread()).toArray()).includes(`Sunny in ${city}.`)) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}
