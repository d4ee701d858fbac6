import { LANE_RULES, type LaneRules } from "../thread/lane-operation.ts";

/** Every released set of projection rules, oldest first. Each one stays callable, so that recorded calls rebuild. */
export const PROJECTORS = ["heddle/1", "heddle/1.1"] as const;

/** The name of a set of projection rules, as recorded with each model call. */
export type ProjectorName = (typeof PROJECTORS)[number];

/**
 * The rules that are used by default: by `project`, agents and new policies. Recorded with each call. Under one name, equal
 * input gives equal bytes.
 *
 * @example
 * console.log(PROJECTOR); // heddle/1.1
 */
export const PROJECTOR = "heddle/1.1" satisfies ProjectorName;

/** What a correction changed. Each field is false in the versions before the correction. */
export interface ProjectionRules extends LaneRules {
  /** Signatures and encrypted reasoning count by their size; before, only readable thinking counted. */
  readonly countsReasoningData: boolean;
  /** The running turn keeps its thinking when what stands before it has changed; before, it was left out. */
  readonly keepsRunningThinking: boolean;
  /** Calls that another provider than the one asked has run are left out; before, every provider was shown them. */
  readonly leavesOutForeignRuns: boolean;
  /** Thinking in a message's content is that of `call.model`; before, each part needed a provider and a model. */
  readonly readsModelOfCall: boolean;
  /** A window step above a half moves the window by all of it; before, a quarter of the window stayed and the step was halved. */
  readonly movesByWholeStep: boolean;
  /** A call that was approved in a list of the AI SDK and has not run keeps its approval; before, it read as interrupted. */
  readonly keepsApprovals: boolean;
  /** A result with more fields than those of an envelope is data; before, all but its `value` or `error` was left out. */
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
