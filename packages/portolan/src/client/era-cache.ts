import { revisions } from "../protocol/revisions/index.ts";
import { object, oneOf, optional, record, string } from "../schema/shape.ts";
import type { KeyValue } from "../storage/storage.ts";
import type { ServerProfile } from "./api.ts";
import { toError } from "./failures.ts";

const prefix = "portolan/era/";
const ttlMs = 7 * 24 * 60 * 60_000;
const shape = object({
  version: string,
  era: oneOf("stateless", "stateful"),
  capabilities: record(),
  info: optional(object({ name: string })),
  instructions: optional(string),
});

/** Remembers what servers speak. Nothing here ever fails a connection: what cannot be read or kept is forgotten. */
export class EraCache {
  readonly #kv: KeyValue;
  readonly #key: string;
  readonly #report: (error: Error) => void;

  constructor(kv: KeyValue, key: string, report: (error: Error) => void) {
    this.#kv = kv;
    this.#key = `${prefix}${key}`;
    this.#report = report;
  }

  async read(): Promise<ServerProfile | undefined> {
    try {
      const text = await this.#kv.get(this.#key);
      if (text === undefined) return undefined;
      const verdict: unknown = JSON.parse(text);
      const problem = shape(verdict, "verdict");
      const { version } = verdict as { version: string };
      if (problem === undefined && revisions.some((revision) => revision.version === version)) {
        return verdict as ServerProfile;
      }
      await this.forget();
    } catch (thrown) {
      this.#report(toError(thrown));
    }
    return undefined;
  }

  async keep(profile: ServerProfile): Promise<void> {
    await this.#quietly(this.#kv.set(this.#key, JSON.stringify(profile), { ttlMs }));
  }

  async forget(): Promise<void> {
    await this.#quietly(this.#kv.delete(this.#key));
  }

  async #quietly(writing: Promise<unknown>): Promise<void> {
    try {
      await writing;
    } catch (thrown) {
      this.#report(toError(thrown));
    }
  }
}
