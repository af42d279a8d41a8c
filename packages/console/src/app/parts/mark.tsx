import type { JSX } from "preact";
import type { ServerRecord } from "../../api.ts";

type Look = "ready" | "idle" | "busy" | "wants" | "broken" | "stopped";

const looks: { readonly [S in ServerRecord["state"]]: readonly [look: Look, words: string] } = {
  disabled: ["stopped", "Switched off"],
  misconfigured: ["broken", "Wrong configuration"],
  untrusted: ["wants", "Not trusted yet"],
  idle: ["idle", "Starts when needed"],
  starting: ["busy", "Starting"],
  ready: ["ready", "Ready"],
  unresponsive: ["wants", "Does not answer"],
  down: ["broken", "Not reachable"],
  login: ["wants", "Needs sign-in"],
  closed: ["stopped", "Closed"],
};

/** The words for the state of a server. */
export function stateWords(state: ServerRecord["state"]): string {
  return looks[state]?.[1] ?? state;
}

/** The state of a server as a shape and a colour. Its words are said to screen readers. */
export function StatusMark({ state, isBusy }: { state: ServerRecord["state"]; isBusy?: boolean }): JSX.Element {
  const look = isBusy ? "busy" : (looks[state]?.[0] ?? "stopped");
  return <span class="mark" data-state={look} role="img" aria-label={isBusy ? "Working" : stateWords(state)} />;
}
