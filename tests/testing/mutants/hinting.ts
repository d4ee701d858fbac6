import type { Bus } from "heddle/store";
import { LocalBuses } from "../../../src/stores/bus.ts";
import type { Mutants } from "./mutation.ts";

const ofAllTenants = new LocalBuses().of("");

/** Careless ways to carry messages. */
export const hinting: Mutants = {
  bus: {
    "drops messages": (_, { bus }) => ({ bus: { ...bus, publish: () => undefined } }),
    "sends them twice": (_, { bus }) => ({ bus: { ...bus, publish: twice(bus) } }),
    "sends them to all tenants": () => ({ bus: ofAllTenants }),
    "never stops": (_, { bus }) => ({
      bus: {
        ...bus,
        subscribe: (listen) => {
          bus.subscribe(listen);
          return () => undefined;
        },
      },
    }),
  },
};

function twice({ publish }: Bus): Bus["publish"] {
  return (message) => {
    publish(message);
    publish(message);
  };
}
