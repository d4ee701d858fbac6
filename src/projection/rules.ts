import { LANE_RULES, type LaneRules } from "../thread/lane-operation.ts";

/** Every released set of projection rules, oldest first. Old ones stay usable, so that recorded calls can be rebuilt. */
export const PROJECTORS = ["heddle/1", "heddle/1.1"] as const;

/** The name of a set of projection rules, as recorded with each model call. */
export type ProjectorName = (typeof PROJECTORS)[number];

/**
 * The default rules of `project`, agents and new policies. The name is recorded with each call. Under one name, equal
 * input gives equal bytes.
 *
 * @example
 * console.log(PROJECTOR); // heddle/1.1
 */
export const PROJECTOR = "heddle/1.1" satisfies ProjectorName;

/** One flag for each correction. It is false in the versions before the correction. */
export interface ProjectionRules extends LaneRules {
  /** Signatures and encrypted reasoning count by size. Before, only readable thinking counted. */
  readonly countsReasoningData: boolean;
  /** The running turn keeps its thinking when earlier messages change. Before, it was dropped. */
  readonly keepsRunningThinking: boolean;
  /** Calls run by a provider are left out for other providers. Before, every provider was shown them. */
  readonly leavesOutForeignRuns: boolean;
  /** Thinking in a message's content belongs to `call.model`. Before, each part needed a provider and a model. */
  readonly readsModelOfCall: boolean;
  /** A window step above 0.5 applies in full. Before, a quarter of the window stayed and the step was halved. */
  readonly movesByWholeStep: boolean;
  /** A call approved in an AI SDK message list that has not run keeps its approval. Before, it was shown as interrupted. */
  readonly keepsApprovals: boolean;
  /** A result with other fields beside an envelope's is data. Before, those fields were left out. */
  readonly keepsWholeResults: boolean;
}

const RULES: { readonly [Name in ProjectorName]: ProjectionRules } = {
  "heddle/1": {
    keepsApprovals: false,
    keepsWholeResults: false,
    followsOrigins: false,
    ignoresMalformed: false,
    countsReasoningData: false,
    keepsRunningThinking: false,
    leavesOutForeignRuns: false,
    readsModelOfCall: false,
    movesByWholeStep: false,
  },
  "heddle/1.1": {
    keepsApprovals: true,
    keepsWholeResults: true,
    ...LANE_RULES,
    countsReasoningData: true,
    keepsRunningThinking: true,
    leavesOutForeignRuns: true,
    readsModelOfCall: true,
    movesByWholeStep: true,
  },
};

export function rulesOf(projector: ProjectorName): ProjectionRules {
  return RULES[projector];
}

/** Whether this version can rebuild calls that name this projector. */
export function isProjectorName(name: unknown): name is ProjectorName {
  return PROJECTORS.some((projector) => projector === name);
}
