import type { HostAnswers } from "portolan/host";
import type { Context } from "../command.ts";

/** How the person at the terminal is asked; where nobody can answer, nothing is offered and nothing is allowed. */
export function createAnswers({ screen }: Context): HostAnswers {
  if (!screen.isInteractive) return {};
  return {};
}
