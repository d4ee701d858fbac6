export { runs } from "../thread/runs.ts";
