import { nameOf, PortolanError } from "../errors.ts";
import type { Revision } from "../protocol/revision.ts";
import { revisions } from "../protocol/revisions/index.ts";
import { object, oneOf, optional, record, string } from "../schema/shape.ts";
import type { KeyValue } from "../storage/storage.ts";
import type { ServerProfile } from "./api.ts";
import type { ConnectTarget } from "./connect.ts";
import type { ClientConnection } from "./connection.ts";
import { toError } from "./failures.ts";
import { mayRestart } from "./handshake.ts";
import { eraTtlMs } from "./limits.ts";
import { agree } from "./negotiate.ts";

const prefix = "portolan/era/";
const shape = object({
  version: string,
  era: oneOf("stateless", "stateful"),
  capabilities: record(),
  info: optional(object({ name: string })),
  instructions: optional(string),
});

/** Stores the profile of one server, so that it is not probed again. A storage that fails never fails a connection. */
export class EraCache {
  readonly #kv: KeyValue;
  readonly #key: string;
  readonly #report: (error: Error) => void;

  constructor(kv: KeyValue, key: string, report: (error: Error) => void) {
    this.#kv = kv;
    this.#key = `${prefix}${key}`;
    this.#report = report;
  }

  /** Opens the link and agrees on a revision, without a probe if the era of the server is known. */
  async negotiate(connection: ClientConnection): Promise<ServerProfile> {
    const { era = "auto" } = connection.options;
    const cached = era === "auto" ? await this.#read() : undefined;
    await connection.open();
    if (cached?.era === "stateless") {
      // If the cache is wrong, the first answer is an error, and the next connection probes again.
      connection.firstAnswer = (response) => {
        connection.firstAnswer = undefined;
        if ("error" in response) this.#forget();
      };
      connection.useRevision(revisions.find(({ version }) => version === cached.version) as Revision);
      connection.profile = cached;
      return cached;
    }
    const evidence = await agree(connection, cached ? cached.era : era).catch(async (reason) => {
      if (!cached || !mayRestart(connection)) throw reason;
      // The server is another one now, or was upgraded.
      await this.#forget();
      if (connection.lostReason) await connection.open();
      return agree(connection, era);
    });
    const profile = connection.profile as ServerProfile;
    if (evidence === "answer") await this.#keep(profile);
    return profile;
  }

  /** Returns undefined if nothing is stored, or nothing that this version of the library understands. */
  async #read(): Promise<ServerProfile | undefined> {
    try {
      const text = await this.#kv.get(this.#key);
      if (text === undefined) return undefined;
      const profile: unknown = JSON.parse(text);
      const problem = shape(profile, "profile");
      const { version } = profile as { version: string };
      if (problem === undefined && revisions.some((revision) => revision.version === version)) {
        return profile as ServerProfile;
      }
      await this.#forget();
    } catch (thrown) {
      this.#report(toError(thrown));
    }
    return undefined;
  }

  async #keep(profile: ServerProfile): Promise<void> {
    await this.#reportFailure(this.#kv.set(this.#key, JSON.stringify(profile), { ttlMs: eraTtlMs }));
  }

  async #forget(): Promise<void> {
    await this.#reportFailure(this.#kv.delete(this.#key));
  }

  async #reportFailure(writing: Promise<unknown>): Promise<void> {
    try {
      await writing;
    } catch (thrown) {
      this.#report(toError(thrown));
    }
  }
}

/** Opens the cache for a server; undefined if the server has no key. */
export function openEraCache(connection: ClientConnection, target: ConnectTarget): EraCache | undefined {
  const { eraCache, eraCacheKey } = connection.options;
  const key = eraCacheKey ?? keyOf(target);
  return eraCache && key !== undefined ? new EraCache(eraCache, key, (error) => connection.report(error)) : undefined;
}

/** Returns undefined for links and channels, which have no name of their own. */
function keyOf(target: ConnectTarget): string | undefined {
  if (typeof target === "string" || target instanceof URL) return String(target);
  return "command" in target ? JSON.stringify([target.command, target.args ?? []]) : undefined;
}

/** Returns the error for something that a client cannot connect to, or not with `auth`. */
export function unusableTarget(target: unknown, auth: unknown): PortolanError {
  if (auth !== undefined) {
    const why = "auth: expected an http address; a link has its own auth, a command its `env`";
    return new PortolanError("invalid-argument", why);
  }
  const { url, tool } = Object(target) as { url?: unknown; tool?: unknown };
  const advice = url ? "; write connect(url)" : tool ? "; write connectInMemory(server)" : "";
  return new PortolanError(
    "invalid-argument",
    `connect: expected an http address, { command, args }, a link or a channel, got ${nameOf(target)}${advice}`,
  );
}
