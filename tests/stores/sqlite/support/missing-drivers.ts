/** Opens a store where neither library is to be had, or Node's own is as old as the argument says; prints the error. */
import { registerHooks } from "node:module";
import { HeddleError } from "../../../../src/index.ts";

const [sqlite] = process.argv.slice(2);
Object.defineProperty(process, "versions", { value: { ...process.versions, sqlite } });
registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== "better-sqlite3") return next(specifier, context);
    throw Object.assign(new Error("hidden by the test"), { code: "MODULE_NOT_FOUND" });
  },
});

const { sqliteStore } = await import("../../../../src/stores/sqlite/sqlite-store.ts");
try {
  await sqliteStore("never-made.db").close();
  console.log("{}");
} catch (error) {
  if (!HeddleError.isInstance(error)) throw error;
  console.log(JSON.stringify({ code: error.code, message: error.message }));
}
