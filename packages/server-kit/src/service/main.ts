import type { Server } from "portolan/server";
import { type CommandLine, runMain, UsageError } from "portolan/server/main";
import type { ServiceOptions } from "./access.ts";
import { type Service, settingsFrom, toApi } from "./service.ts";

/** The program of a server for a service. */
export interface ServiceProgram {
  /** The name of the command. */
  readonly name: string;
  readonly version: string;
  /** One sentence for `--help`. */
  readonly about: string;
  readonly service: Service;
  readonly create: (options: ServiceOptions) => Server;
}

/** Runs the server of a service as a program, with the flags and variables that all of them have. */
export async function runServiceMain({ name, version, about, service, create }: ServiceProgram): Promise<void> {
  const { api, apiExample, apiVariable, tokenVariable, tokenOwner, tokenPage } = service;
  const example = apiExample === undefined ? "" : `, such as ${apiExample}`;
  await runMain({
    name,
    version,
    about,
    flags: {
      "read-only": { type: "boolean", says: "offer no tool that changes anything" },
      yes: { type: "boolean", says: "make changes without asking the user" },
      api: { type: "string", value: "<address>", says: `the address of the API${example}. Default: ${api}` },
      timeout: { type: "string", value: "<seconds>", says: "wait at most this long for a response. Default: 30" },
    },
    environment: {
      [tokenVariable]: { says: `the token of ${tokenOwner}, from ${tokenPage}`, isSecret: true },
      [apiVariable]: { says: "the address of the API; the flag --api goes before" },
    },
    create: (line) => create(optionsOf(line, service)),
  });
}

function optionsOf(line: CommandLine, service: Service): ServiceOptions {
  const { token, api: known } = settingsFrom(service);
  const seconds = line.count("timeout");
  return {
    ...(token !== undefined && { account: token }),
    api: addressIn(line.text("api")) ?? known,
    readOnly: line.isSet("read-only"),
    ask: !line.isSet("yes"),
    ...(seconds !== undefined && { limits: { timeoutMs: seconds * 1000 } }),
  };
}

function addressIn(flag: string | undefined): string | undefined {
  try {
    return flag === undefined ? undefined : toApi(flag, "--api");
  } catch (reason) {
    throw new UsageError((reason as Error).message);
  }
}
