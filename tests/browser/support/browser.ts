import { type Browser, chromium } from "playwright-core";

export function launch(executablePath: string): Promise<Browser> {
  return chromium.launch({
    executablePath,
    // Root has no sandbox in a container, and /dev/shm may be tiny there.
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars"],
  });
}
