import { Machinery } from "../machinery.ts";
import type { StorePorts } from "../ports.ts";
import type { MemoryTenant } from "./database.ts";
import { memoryDriver } from "./driver.ts";

export function memoryMachinery(tenant: MemoryTenant, ports: StorePorts): Machinery {
  return new Machinery(memoryDriver(tenant, ports.clock), ports);
}
