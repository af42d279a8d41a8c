import type { Progress } from "portolan/client";
import type { Context } from "../command.ts";

/** So long nothing need be said. */
const patienceMs = 3_000;

/** How far something has come, on one line of the terminal that is gone afterwards; where it is silent, that it is waited for. */
export function createProgress(
  { world, screen, terminal }: Context,
  what?: string,
): { show(progress: Progress): void; end(): void } {
  const { stderr } = world;
  let isShown = false;
  const draw = (line: string) => {
    if (!stderr.isTTY || screen.isDumb || terminal.isAsking) return;
    stderr.write(`\r\u001b[K${screen.cut(line)}`);
    isShown = true;
  };
  const wait = () => draw(screen.style("dim", `waiting for ${screen.safe(what ?? "")}; Ctrl-C cancels`));
  const silence = what === undefined ? undefined : setTimeout(wait, patienceMs);
  return {
    show({ progress, total, message = "" }) {
      clearTimeout(silence);
      const share = total !== undefined && total > 0 ? Math.min(1, Math.max(0, progress / total)) : undefined;
      const width = 20;
      const filled = Math.round((share ?? 0) * width);
      const bar =
        share === undefined
          ? `${progress}`
          : `[${"#".repeat(filled)}${" ".repeat(width - filled)}] ${Math.round(share * 100)} %`;
      draw(`${bar} ${screen.safe(message)}`);
    },
    end() {
      clearTimeout(silence);
      if (isShown) stderr.write("\r\u001b[K");
      isShown = false;
    },
  };
}
