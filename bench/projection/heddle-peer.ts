import {
  ContextPolicy,
  type ContextPolicyInput,
  createProjector,
  type Projection,
  type ProjectionInput,
  project,
  Thread,
} from "heddle";
import type { ContextPeer, TableName, Variant } from "../peers/projection/peer.ts";
import { version } from "../support/packages.ts";
import { entriesOf } from "./entries.ts";

/** The steps of a stable window that the table of costs compares. */
const STEPS = [0.1, 0.2, 0.25, 0.33, 0.5, 0.75, 1];

type Project = (input: ProjectionInput) => Projection;

/** heddle doing the job of the peers, measured by the same code. */
export async function heddle(): Promise<ContextPeer> {
  return {
    packages: [`heddle ${version("../../package.json")}`],
    variants: [
      variant("heddle, cold", ["build"], {}, () => project),
      variant("heddle, memoised: the same thread again", ["build"], {}, remembering),
      { ...variant("heddle, incremental: one entry more", ["build"], {}, remembering), grows: true },
      ...STEPS.map((step) => variant(`heddle, step ${step}`, ["cache"], { mode: "stable", step })),
      variant("heddle, sliding", ["cache", "illegal"], { mode: "sliding" }),
      variant("heddle, stable", ["illegal"], { mode: "stable" }),
    ],
  };
}

function variant(
  name: string,
  tables: readonly TableName[],
  window: ContextPolicyInput["window"],
  start: () => Project = remembering,
): Variant {
  return {
    name,
    tables,
    counts: "tokens",
    open(limit) {
      const policy = ContextPolicy.create({ maxInputTokens: limit, reserveOutputTokens: 0, window });
      const make = start();
      let thread = Thread.create();
      return {
        add(messages) {
          thread = thread.append(messages.flatMap(entriesOf));
        },
        build() {
          const { messages } = make({ thread, policy });
          return () => messages;
        },
      };
    },
  };
}

function remembering(): Project {
  const projector = createProjector();
  return (input) => projector.project(input);
}
