import { AsyncLocalStorage } from "node:async_hooks";
import { type Context, type ContextManager, ROOT_CONTEXT } from "@opentelemetry/api";

/** As the SDK of Node keeps the active context. */
export class KeptContext implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>();

  active(): Context {
    return this.#storage.getStore() ?? ROOT_CONTEXT;
  }

  with<Arguments extends unknown[], Run extends (...given: Arguments) => ReturnType<Run>>(
    active: Context,
    run: Run,
    receiver?: ThisParameterType<Run>,
    ...given: Arguments
  ): ReturnType<Run> {
    return this.#storage.run(active, () => run.apply(receiver, given));
  }

  bind<Target>(_active: Context, target: Target): Target {
    return target;
  }

  enable(): this {
    return this;
  }

  disable(): this {
    this.#storage.disable();
    return this;
  }
}
