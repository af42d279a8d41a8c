import { type Principal, ToolError } from "portolan/server";
import { type Description, DescriptionError, isJson, textOf } from "./description.ts";
import type { Operation } from "./operations.ts";
import type { CredentialSource, OpenApiOptions } from "./options.ts";

/** The parts of a request that prove who sends it. */
export interface Proof {
  readonly headers: { readonly [name: string]: string };
  readonly query: readonly string[];
  readonly cookies: readonly string[];
  /** The values that no message may repeat. */
  readonly secrets: readonly string[];
}

type Place = "bearer" | "basic" | { readonly in: "header" | "query" | "cookie"; readonly name: string };

const nothing: Proof = { headers: {}, query: [], cookies: [], secrets: [] };

/** Proves requests by the security schemes of a description. */
export class Credentials {
  readonly #source: CredentialSource | undefined;
  readonly #places = new Map<string, Place>();
  /** The sentence for a person who lacks the credential. */
  readonly help: string;

  constructor(description: Description, { credential, credentialHelp }: OpenApiOptions) {
    this.#source = typeof credential === "string" ? () => credential : credential;
    this.help = credentialHelp ?? "Give the server a credential of this API";
    const components = description.root["components"];
    const schemes = isJson(components) && isJson(components["securitySchemes"]) ? components["securitySchemes"] : {};
    for (const [name, value] of Object.entries(schemes)) {
      const place = placeOf(description, value);
      if (place) this.#places.set(name, place);
    }
  }

  /** Proves a request of an operation by the first alternative for which there are credentials. */
  async proofFor({ security }: Operation, caller: Principal): Promise<Proof> {
    if (security.length === 0) return this.#places.size > 0 ? nothing : await this.#usual(caller);
    const missing: string[] = [];
    for (const schemes of security) {
      if (schemes.length === 0) continue;
      const found = await Promise.all(schemes.map((scheme) => this.#credentialFor(scheme, caller)));
      const lacking = schemes.filter((_, index) => found[index] === undefined);
      if (lacking.length === 0)
        return combine(found.map((credential, index) => this.#prove(schemes[index], credential)));
      missing.push(lacking.join(" and "));
    }
    // An empty alternative says that the operation can be used without a credential.
    if (missing.length < security.length) return nothing;
    throw new ToolError(`This operation needs a credential (${missing.join(", or ")}). ${this.help}`);
  }

  /** A description without schemes says nothing of credentials: one that was given is sent in the usual way. */
  async #usual(caller: Principal): Promise<Proof> {
    const credential = await this.#source?.({ scheme: undefined, caller });
    return credential === undefined ? nothing : prove("bearer", credential);
  }

  async #credentialFor(scheme: string, caller: Principal): Promise<string | undefined> {
    return this.#places.has(scheme) ? await this.#source?.({ scheme, caller }) : undefined;
  }

  #prove(scheme: string | undefined, credential: string | undefined): Proof {
    const place = this.#places.get(scheme ?? "");
    return place === undefined || credential === undefined ? nothing : prove(place, credential);
  }
}

/** Returns where a security scheme puts its credential; undefined for schemes that need more than a text. */
function placeOf(description: Description, value: unknown): Place | undefined {
  try {
    const scheme = description.resolve(value, "a security scheme");
    switch (scheme["type"]) {
      case "oauth2":
      case "openIdConnect":
        return "bearer";
      case "http": {
        const kind = textOf(scheme, "scheme")?.toLowerCase();
        return kind === "bearer" || kind === "basic" ? kind : undefined;
      }
      case "apiKey": {
        const name = textOf(scheme, "name");
        const place = scheme["in"];
        const isKnown = place === "header" || place === "query" || place === "cookie";
        return isKnown && name !== undefined ? { in: place, name } : undefined;
      }
      default:
        return undefined;
    }
  } catch (reason) {
    if (reason instanceof DescriptionError) return undefined;
    throw reason;
  }
}

function prove(place: Place, credential: string): Proof {
  if (!/^[\x20-\x7e]+$/.test(credential)) {
    throw new ToolError("The credential of this API has characters that cannot be sent");
  }
  const secrets = [credential];
  if (place === "bearer") return { ...nothing, secrets, headers: { authorization: `Bearer ${credential}` } };
  if (place === "basic") {
    const encoded = Buffer.from(credential).toString("base64");
    return { ...nothing, secrets: [credential, encoded], headers: { authorization: `Basic ${encoded}` } };
  }
  const { name } = place;
  if (place.in === "header") return { ...nothing, secrets, headers: { [name.toLowerCase()]: credential } };
  const pair = `${encodeURIComponent(name)}=${encodeURIComponent(credential)}`;
  const all = [credential, encodeURIComponent(credential)];
  return place.in === "query"
    ? { ...nothing, secrets: all, query: [pair] }
    : { ...nothing, secrets: all, cookies: [pair] };
}

function combine(proofs: readonly Proof[]): Proof {
  return {
    headers: Object.assign({}, ...proofs.map(({ headers }) => headers)),
    query: proofs.flatMap(({ query }) => query),
    cookies: proofs.flatMap(({ cookies }) => cookies),
    secrets: proofs.flatMap(({ secrets }) => secrets),
  };
}
