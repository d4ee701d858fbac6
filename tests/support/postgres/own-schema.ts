import { useOwnSchema } from "../../stores/postgres/open.ts";

useOwnSchema();
