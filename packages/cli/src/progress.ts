import type { Progress } from "portolan/client";
import type { Context } from "./command.ts";

/** How far a call has come, on one line of the terminal that is gone afterwards. */
export function createProgress({ world, screen, terminal }: Context): { show(progress: Progress): void; end(): void } {
  const { stderr } = world;
  let isShown = false;
  return {
    show({ progress, total, message = "" }) {
      if (!stderr.isTTY || screen.isDumb || terminal.isAsking) return;
      const share = total !== undefined && total > 0 ? Math.min(1, Math.max(0, progress / total)) : undefined;
      const width = 20;
      const filled = Math.round((share ?? 0) * width);
      const bar =
        share === undefined
          ? `${progress}`
          : `[${"#".repeat(filled)}${" ".repeat(width - filled)}] ${Math.round(share * 100)} %`;
      stderr.write(`\r\u001b[K${screen.cut(`${bar} ${screen.safe(message)}`)}`);
      isShown = true;
    },
    end() {
      if (isShown) stderr.write("\r\u001b[K");
      isShown = false;
    },
  };
}
