import { type ConfiguredServer, editConfig, parseConfig, type ServerEntry } from "portolan-host";

/** Variables of a command, or headers of an address. */
export interface Pairs {
  readonly env?: { readonly [name: string]: string };
  readonly headers?: { readonly [name: string]: string };
}

/**
 * Returns pairs whose references to variables, such as `${KEY}`, are written as the product of a file reads them:
 * `${env:KEY}` for Cursor. Throws if the product has no references.
 */
export async function toNotationOf({ file, product }: ConfiguredServer["source"], given: Pairs): Promise<Pairs> {
  const { env, headers } = given;
  const target = headers ? { url: "https://example.com", headers } : { command: "x", ...(env && { env }) };
  const source = { kind: "file", file: "", path: "", product: "claude-code", scope: "user" } as const;
  const entry: ServerEntry = { name: "x", target, configured: target, settings: {}, source };
  // The entry that `add --to` writes for a new server, read back.
  const { servers } = await parseConfig(await editConfig("", { file, product }, "x", entry), { file, product });
  return (servers[0]?.configured ?? {}) as Pairs;
}
