import { WIRES } from "./calls/wire.ts";
import type { Info } from "./contract/info.ts";
import { type Answer, json } from "./http/reply.ts";
import type { Call } from "./http/router.ts";
import { VERSION } from "./version.ts";

/** GET /api/info */
export async function studioInfo({ studio }: Call): Promise<Answer<Info>> {
  const { readOnly, isDemo: demo, model, prompts, label: store, agent } = studio;
  const { tools } = await studio.settings;
  return json<Info>({
    name: "heddle",
    version: VERSION,
    readOnly,
    demo,
    model,
    agent: agent.name,
    tools: tools.map(({ name, description }) => ({ name, description })),
    prompts,
    store,
    providers: WIRES,
    importLimit: studio.importLimit,
  });
}
