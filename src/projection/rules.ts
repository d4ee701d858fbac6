import { LANE_RULES, type LaneRules } from "../thread/lane-operations.ts";

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

/** The corrections of each version of the rules. A flag is false in versions before the correction. */
export interface ProjectionRules extends LaneRules {
  /** Signatures and encrypted reasoning count toward the tokens. Before, only readable thinking counted. */
  readonly countsReasoningData: boolean;
  /** The running turn keeps its thinking if earlier messages change. Before, it was dropped. */
  readonly keepsRunningThinking: boolean;
  /** A call that a provider ran is hidden from other providers. Before, every provider was shown it. */
  readonly leavesOutForeignRuns: boolean;
  /**
   * Thinking in a message's content is attributed to `call.model`. Before, each part had to name a provider and a
   * model.
   */
  readonly readsModelOfCall: boolean;
  /**
   * A window step above 0.5 applies in full. Before, at least a quarter of the window stayed, and the step was halved.
   */
  readonly movesByWholeStep: boolean;
  /**
   * A call that was approved in an AI SDK message list and has not run keeps its approval. Before, it was shown as
   * interrupted.
   */
  readonly keepsApprovals: boolean;
  /**
   * A result object with fields other than those of an error or content envelope is data. Before, these fields were
   * lost.
   */
  readonly keepsWholeResults: boolean;
  /** A message with the role `developer` is read as a system message. Before, it could not be read. */
  readonly readsDeveloper: boolean;
  /** An answer that its provider paused and the next one are one message. Before, one without text was left out. */
  readonly joinsPauses: boolean;
  /** A user message with an author begins with the name. Before, the field `author` meant nothing. */
  readonly showsAuthors: boolean;
  /**
   * Older steered messages, a summary and files of results leave space for what else is new. Before, all of them had to
   * fit.
   */
  readonly makesSpace: boolean;
}

const RULES: { readonly [Name in ProjectorName]: ProjectionRules } = {
  "heddle/1": {
    keepsApprovals: false,
    keepsWholeResults: false,
    readsDeveloper: false,
    joinsPauses: false,
    showsAuthors: false,
    makesSpace: false,
    followsOrigins: false,
    ignoresMalformed: false,
    cutsAnswers: false,
    countsReasoningData: false,
    keepsRunningThinking: false,
    leavesOutForeignRuns: false,
    readsModelOfCall: false,
    movesByWholeStep: false,
  },
  "heddle/1.1": {
    keepsApprovals: true,
    keepsWholeResults: true,
    readsDeveloper: true,
    joinsPauses: true,
    showsAuthors: true,
    makesSpace: true,
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

/** Whether this version of Heddle has the projection rules of this name. */
export function isProjectorName(name: unknown): name is ProjectorName {
  return PROJECTORS.some((projector) => projector === name);
}
