import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** How long to wait for another process. */
export const patient: { readonly timeout: number } = { timeout: 20_000 };

/** A folder that is removed after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "portolan-auth-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
