import { silent, type Telemetry, type ToolSpan } from "./telemetry.ts";

type Within = ToolSpan["within"];

/** The same telemetry, which can no longer hurt: what it throws changes nothing for the run. */
export function guarded(telemetry: Telemetry): Telemetry {
  return {
    request: (of, scene) => {
      const span = begun(
        () => telemetry.request(of, scene),
        () => silent.request(of, scene),
      );
      return {
        event: (event) => quietly(() => span.event(event)),
        suspended: () => quietly(() => span.suspended()),
      };
    },
    model: (directive, scene) => {
      const span = begun(
        () => telemetry.model(directive, scene),
        () => silent.model(directive, scene),
      );
      return {
        within: (work) => once((run) => span.within(run), work),
        sending: (sent) => quietly(() => span.sending(sent)),
        answered: (answer) => quietly(() => span.answered(answer)),
        failed: (failure, usage) => quietly(() => span.failed(failure, usage)),
      };
    },
    tool: (directive, scene) => {
      const span = begun(
        () => telemetry.tool(directive, scene),
        () => silent.tool(directive, scene),
      );
      return {
        within: (work) => once((run) => span.within(run), work),
        ended: (result) => quietly(() => span.ended(result)),
      };
    },
    summary: (of, scene) => {
      const span = begun(
        () => telemetry.summary(of, scene),
        () => silent.summary(of, scene),
      );
      return {
        within: (work) => once((run) => span.within(run), work),
        answered: (answer) => quietly(() => span.answered(answer)),
        ended: () => quietly(() => span.ended()),
        failed: (error) => quietly(() => span.failed(error)),
      };
    },
  };
}

function quietly(tell: () => void): void {
  try {
    tell();
  } catch {
    // whoever listens has lost a word, and the run goes on
  }
}

function begun<Span>(begin: () => Span, otherwise: () => Span): Span {
  try {
    return begin();
  } catch {
    return otherwise();
  }
}

/** The work is done once, and its own outcome is what comes back, whatever becomes of the span around it. */
function once<Result>(within: Within, work: () => Promise<Result>): Promise<Result> {
  let running: Promise<Result> | undefined;
  const run = (): Promise<Result> => {
    running ??= started(work);
    return running;
  };
  quietly(() => void Promise.resolve(within(run)).catch(() => undefined));
  return run();
}

/** A throw before the first await is a rejection too. */
async function started<Result>(work: () => Promise<Result>): Promise<Result> {
  return work();
}
