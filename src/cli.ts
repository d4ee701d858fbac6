#!/usr/bin/env node
import { start } from "./cli/start.ts";

await start();
