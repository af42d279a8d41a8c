import { PortolanError } from "../errors.ts";
import type { Revision } from "../protocol/revision.ts";
import type { ClientCapabilities, ServerCapabilities } from "../protocol/types/index.ts";
import type { Answers } from "./answers.ts";

/** What a client with these answers declares, and whatever else it says. */
export function declaredBy(answers: Answers, extra: ClientCapabilities = {}): ClientCapabilities {
  const declared: ClientCapabilities = {};
  if (answers.elicit || answers.visit) {
    declared.elicitation = { ...(answers.elicit && { form: {} }), ...(answers.visit && { url: {} }) };
  }
  if (answers.sample) declared.sampling = {};
  if (answers.roots) declared.roots = { listChanged: true };
  return {
    ...declared,
    ...extra,
    ...(extra.elicitation && { elicitation: { ...declared.elicitation, ...extra.elicitation } }),
    ...(extra.sampling && { sampling: { ...declared.sampling, ...extra.sampling } }),
    ...(extra.roots && { roots: { ...declared.roots, ...extra.roots } }),
  };
}

/** The capability behind each request; what is not listed needs none. */
const needs: { readonly [method: string]: keyof ServerCapabilities } = {
  "tools/list": "tools",
  "tools/call": "tools",
  "resources/list": "resources",
  "resources/templates/list": "resources",
  "resources/read": "resources",
  "resources/subscribe": "resources",
  "resources/unsubscribe": "resources",
  "prompts/list": "prompts",
  "prompts/get": "prompts",
  "completion/complete": "completions",
  "logging/setLevel": "logging",
};

/** Whether a server offers what a request is about. */
export function offers(capabilities: ServerCapabilities, method: string, revision: Revision): boolean {
  const need = Object.hasOwn(needs, method) ? needs[method] : undefined;
  if (need === undefined || capabilities[need] !== undefined) return true;
  // The oldest servers complete arguments and have no way of saying so.
  return revision.asking.hidden.get("serverCapabilities")?.includes(need) === true;
}

export function notOffered(method: string): PortolanError {
  return new PortolanError(
    "capability-missing",
    `${method}: the server declares no ${needs[method] ?? "such"} capability`,
  );
}
