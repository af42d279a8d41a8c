#!/usr/bin/env node
import { runMain, UsageError } from "portolan/server/main";
import { DescriptionError } from "./description.ts";
import type { CredentialSource } from "./options.ts";
import { readDescription } from "./read-description.ts";
import { fromOpenApi } from "./server.ts";

const variable = "OPENAPI_TOKEN";

const operationsHelp =
  'an id or a name (issues/*), a method and a path ("GET /repos/*"), or a tag (tag:issues). Repeatable';

await runMain({
  name: "portolan-openapi",
  version: "0.1.0",
  about: "An MCP server made from an OpenAPI description: each operation of an HTTP API is a tool.",
  arguments: "<description>",
  flags: {
    api: {
      type: "string",
      value: "<address>",
      says: "the address of the API. Default: the first server of the description",
    },
    only: {
      type: "string",
      multiple: true,
      value: "<operation>",
      says: `offer only these operations: ${operationsHelp}`,
    },
    except: { type: "string", multiple: true, value: "<operation>", says: "leave out these operations. Repeatable" },
    "reads-only": {
      type: "string",
      multiple: true,
      value: "<operation>",
      says: "this operation changes nothing although its method is not GET. Repeatable",
    },
    name: {
      type: "string",
      multiple: true,
      value: "<operation>=<name>",
      says: "name the tool of an operation. Repeatable",
    },
    search: { type: "boolean", says: "offer four tools that find and call operations. Default for more than 100" },
    tools: { type: "boolean", says: "offer each operation as a tool. Default up to 100" },
    "read-only": { type: "boolean", says: "offer no operation that changes anything" },
    yes: { type: "boolean", says: "make changes without asking the user" },
    timeout: { type: "string", value: "<seconds>", says: "wait at most this long for a response. Default: 30" },
  },
  environment: {
    [variable]: { says: "the token or key for the API, or user:password for basic authentication", isSecret: true },
    [`${variable}_<SCHEME>`]: { says: "the same for one security scheme of the description", isSecret: true },
  },
  async create(line) {
    const [place, ...more] = line.arguments;
    if (place === undefined || more.length > 0) throw new UsageError("expected one description: a file, or an address");
    if (line.isSet("search") && line.isSet("tools")) throw new UsageError("expected --search or --tools, not both");
    const offer = line.isSet("search") ? "search" : line.isSet("tools") ? "tools" : undefined;
    const api = line.text("api");
    const seconds = line.count("timeout");
    const only = line.texts("only");
    try {
      return fromOpenApi(await readDescription(place), {
        ...(api !== undefined && { api }),
        ...(/^https?:\/\//i.test(place) && { source: place }),
        ...(only.length > 0 && { only }),
        ...(offer && { offer }),
        except: line.texts("except"),
        reading: line.texts("reads-only"),
        names: namesIn(line.texts("name")),
        readOnly: line.isSet("read-only"),
        ask: !line.isSet("yes"),
        credential: credentialsIn(process.env),
        credentialHelp: `Set ${variable} to it, and start the server again`,
        ...(seconds !== undefined && { limits: { timeoutMs: seconds * 1000 } }),
      });
    } catch (reason) {
      if (reason instanceof DescriptionError) throw new UsageError(reason.message);
      throw reason;
    }
  },
});

function namesIn(texts: readonly string[]): { [operation: string]: string } {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.lastIndexOf("=");
      if (at < 1 || at === text.length - 1) throw new UsageError(`--name: expected <operation>=<name>, got ${text}`);
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}

/** Finds the credential of a security scheme in the environment: its own variable, else the common one. */
function credentialsIn(environment: NodeJS.ProcessEnv): CredentialSource {
  return ({ scheme = "" }) => {
    const own = `${variable}_${scheme.toUpperCase().replace(/[^A-Z0-9]+/g, "_")}`;
    return (environment[own] ?? environment[variable])?.trim() || undefined;
  };
}
