/** What kinds of answer a client takes. */
export interface Accepted {
  readonly json: boolean;
  readonly events: boolean;
}

const maxTypes = 100;
const everything: Accepted = { json: true, events: true };
const json = ["application/json", "application/*", "*/*"];
const events = ["text/event-stream", "text/*", "*/*"];

/** Reads an Accept header; a client that names no types takes all. */
export function readAccept(header: string | undefined): Accepted {
  if (header === undefined || header.trim() === "") return everything;
  // The header of nearly every client.
  if (header === "application/json, text/event-stream") return everything;
  const weights = new Map<string, boolean>();
  for (const part of header.split(",", maxTypes)) {
    const [type = "", ...parameters] = part.split(";");
    const weight = parameters.map((parameter) => parameter.trim().toLowerCase()).find((text) => text.startsWith("q="));
    weights.set(type.trim().toLowerCase(), weight === undefined || Number(weight.slice(2)) > 0);
  }
  return { json: isTaken(json, weights), events: isTaken(events, weights) };
}

/** The most specific entry decides. */
function isTaken(types: readonly string[], weights: ReadonlyMap<string, boolean>): boolean {
  for (const type of types) {
    const taken = weights.get(type);
    if (taken !== undefined) return taken;
  }
  return false;
}
