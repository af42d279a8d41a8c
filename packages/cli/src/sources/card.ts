import { PortolanError } from "portolan";
import type { CommandContext } from "../command.ts";
import { Failure } from "../failure.ts";
import { quote } from "../terminal/escape.ts";
import { fetchDocument, isTable, parseTable, policyFor, type Table, toTypedUrl } from "./fetch.ts";
import { entryNameOf, type FoundServer } from "./found.ts";
import { guessMs } from "./limits.ts";
import { toTarget } from "./package.ts";

const cardType = "application/mcp-server-card+json";
const suffix = "/server-card";

/** A server card and where it was. */
export interface FoundCard {
  readonly card: Table;
  readonly place: string;
}

/**
 * Reads the server card at an address, or beside it, and makes a server of its first remote. The card is only a proposal:
 * what it says of the server is not kept, and counts for no decision.
 */
export async function fromCard(
  context: CommandContext,
  typedText: string,
  {
    given,
    name: chosen,
  }: { readonly given: ReadonlyMap<string, readonly string[]>; readonly name: string | undefined },
): Promise<FoundServer> {
  const typed = toTypedUrl(typedText, "address");
  const { card, place } = await findCard(context, typed);
  const { name: own, version, remotes = [] } = card;
  if (typeof own !== "string" || !/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/.test(own)) {
    throw new Failure("protocol", `the server card at ${place} has no valid name`);
  }
  const found = new URL(place);
  // A card without remotes describes the server that serves it.
  const itself = { type: "streamable-http", url: place.slice(0, -suffix.length) };
  const all = Array.isArray(remotes) && remotes.length > 0 ? remotes : found.pathname.endsWith(suffix) ? [itself] : [];
  const isStreamable = (remote: unknown) => isTable(remote) && remote["type"] !== "sse";
  const remote = all.find(isStreamable) ?? all[0];
  if (!isTable(remote)) throw new Failure("usage", `the server card at ${place} names no address`);
  const name = chosen ?? entryNameOf(own);
  const { target, warnings } = await toTarget(
    context,
    { name, item: remote, kind: "remotes" },
    given,
    policyFor(context, typed),
  );
  const url = "url" in target ? target.url : "";
  const host = URL.canParse(url) ? new URL(url).host : undefined;
  const leadsAway = host !== undefined && host !== typed.host;
  return {
    ...{ name, target },
    from: { kind: "card", name: own, place, ...(typeof version === "string" && { version }) },
    warnings: [
      ...warnings,
      ...(leadsAway ? [`the card at ${typed.host} leads to another host: ${host}`] : []),
      ...(all.length > 1 ? [`the card has ${all.length} addresses; ${url} is used`] : []),
    ],
  };
}

/** Reads the server card beside an address, or at the address itself. */
export async function findCard(context: CommandContext, typed: URL): Promise<FoundCard> {
  const beside = new URL(typed);
  beside.pathname = `${typed.pathname.replace(/\/+$/, "")}${suffix}`;
  const isCardItself = typed.pathname.endsWith(suffix) || typed.pathname.endsWith(".json");
  const places = isCardItself ? [typed] : [beside, typed];
  for (const place of places) {
    const isGuess = place === typed && !isCardItself;
    const policy = isGuess ? { timeoutMs: guessMs } : {};
    const reading = fetchDocument(context, place, { typed, accept: cardType, policy });
    // A server may answer a GET of its own address with a stream that does not end.
    const response = isGuess ? await reading.catch(withoutEnd) : await reading;
    if (!response) continue;
    const type = response.headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
    // A static file server may not know the media type; the address of a server itself answers other things as JSON.
    const isCard =
      type === cardType || (type === "application/json" && place !== typed) || (isCardItself && response.ok);
    if (!response.ok || !isCard) continue;
    const card = parseTable(await response.text(), `the server card at ${place.href}`);
    return { card, place: response.url || place.href };
  }
  // The name of the domain: `example` of `mcp.example.com`.
  const isNumber = /^[\d.]+$|:/.test(typed.hostname);
  const name = isNumber ? "server" : entryNameOf(typed.hostname.split(".").slice(-2)[0] ?? "");
  throw new Failure("usage", `${typed.href} has no server card; to add the address itself, give it a name`, {
    next: `portolan add ${quote(name)} ${quote(typed.href)}`,
  });
}

function withoutEnd(reason: unknown): undefined {
  if (reason instanceof PortolanError && ["timeout", "message-too-large"].includes(reason.code)) return;
  throw reason;
}
