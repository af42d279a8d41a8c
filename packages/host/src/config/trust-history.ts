import { array, number, object, string } from "portolan/internal";
import type { KeyValue } from "portolan/storage";
import { canonicalJson, sha256 } from "portolan/storage";
import { createRedactor } from "../activity/redact.ts";
import type { ServerEntry } from "../options.ts";
import { factsOf, type PreviousTrust, type TrustChange, type TrustFact, trustPlace } from "./trust.ts";

/** A fact as it is stored: without secrets, and with a digest that shows any change. */
interface StoredFact {
  readonly label: string;
  readonly value: string;
  readonly digest: string;
}

/** The configuration of a server when the user trusted it. */
interface TrustRecord {
  readonly digest: string;
  readonly trustedAt: number;
  readonly facts: readonly StoredFact[];
}

const isRecord = object({
  digest: string,
  trustedAt: number,
  facts: array(object({ label: string, value: string, digest: string })),
});

/** Remembers what the user trusted, so that a changed server can be shown with the difference. */
export class TrustHistory {
  readonly #kv: KeyValue;
  /** Decisions that end with the host. */
  readonly #session = new Map<string, TrustRecord>();

  constructor(kv: KeyValue) {
    this.#kv = kv;
  }

  /** Returns what changed since the user trusted the server of this name in this place; undefined for a new one. */
  async find(entry: ServerEntry, digest: string): Promise<PreviousTrust | undefined> {
    const key = await keyOf(entry);
    const record = key === undefined ? undefined : (this.#session.get(key) ?? parseRecord(await this.#kv.get(key)));
    if (!record) return undefined;
    const { trustedAt, facts } = record;
    if (record.digest === digest) return { trustedAt, changes: [] };
    const changes = compare(facts, await toStored(entry, (value) => value));
    return { trustedAt, changes: changes.length > 0 ? changes : [{ label: "Other settings", after: "changed" }] };
  }

  async remember(
    entry: ServerEntry,
    digest: string,
    scope: "session" | "always",
    secrets: readonly string[],
  ): Promise<void> {
    const key = await keyOf(entry);
    if (key === undefined) return;
    const redactor = createRedactor(secrets);
    const facts = await toStored(entry, (value) => redactor.redact(value) as typeof value);
    const record: TrustRecord = { digest, trustedAt: Date.now(), facts };
    if (scope === "session") {
      this.#session.set(key, record);
      return;
    }
    this.#session.delete(key);
    await this.#kv.set(key, JSON.stringify(record));
  }
}

/** Returns the key of a server in a file; one that is defined in code needs no decision. */
async function keyOf(entry: ServerEntry): Promise<string | undefined> {
  const place = await trustPlace(entry);
  return place === undefined ? undefined : `host/trusted/${place}`;
}

function parseRecord(text: string | undefined): TrustRecord | undefined {
  try {
    const record: unknown = JSON.parse(text ?? "");
    return isRecord(record, "record") === undefined ? (record as TrustRecord) : undefined;
  } catch {
    return undefined;
  }
}

type Redact = <T extends string | readonly string[]>(value: T) => T;

/** Prepares facts for the storage. All arguments are one fact, because a new one moves the others. */
async function toStored(entry: ServerEntry, redact: Redact): Promise<StoredFact[]> {
  const isArgument = ({ label }: TrustFact) => label.startsWith("Argument ");
  const facts = factsOf(entry);
  const [first, ...others] = facts.filter((fact) => !isArgument(fact));
  const toFact = async ({ label, value, hidden = "" }: TrustFact): Promise<StoredFact> => {
    return { label, value: redact(value), digest: await sha256(canonicalJson([value, hidden])) };
  };
  const stored = first ? [await toFact(first)] : [];
  const args = facts.filter(isArgument).map(({ value }) => value);
  if (args.length > 0) {
    const value = redact(args).map(quoteArgument).join(" ");
    stored.push({ label: "Arguments", value, digest: await sha256(canonicalJson(args)) });
  }
  return [...stored, ...(await Promise.all(others.map(toFact)))];
}

function quoteArgument(arg: string): string {
  return /^[\w@%+=:,./-]+$/.test(arg) ? arg : JSON.stringify(arg);
}

/** Labels of which a server may have several: the name in the value distinguishes them. */
const repeated: readonly string[] = ["Variable", "Header", "Takes your variable", "Asks for", "In place of"];

function nameOf({ label, value }: StoredFact): string {
  return repeated.includes(label) ? `${label} ${value.split(/=| \(hidden/, 1)[0]}` : label;
}

function compare(before: readonly StoredFact[], after: readonly StoredFact[]): TrustChange[] {
  const old = new Map(before.map((fact) => [nameOf(fact), fact]));
  const now = new Map(after.map((fact) => [nameOf(fact), fact]));
  const changes: TrustChange[] = [];
  for (const [name, fact] of now) {
    const { label, value, digest } = fact;
    const known = old.get(name);
    if (!known) changes.push({ label, after: value });
    else if (known.digest !== digest) {
      const isHidden = known.value === value;
      changes.push({ label, before: known.value, after: isHidden ? `${value} (with another value)` : value });
    }
  }
  for (const [name, { label, value }] of old) if (!now.has(name)) changes.push({ label, before: value });
  return changes;
}
