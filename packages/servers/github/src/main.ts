#!/usr/bin/env node
import { runMain, UsageError } from "portolan/server/main";
import { toApi } from "portolan-server-kit/service";
import { about, environmentSettings } from "./github.ts";
import { createGithub, version } from "./server.ts";

await runMain({
  name: "portolan-github",
  version,
  about: "An MCP server for GitHub: code, issues, pull requests, reviews and merges.",
  flags: {
    "read-only": { type: "boolean", says: "offer no tool that changes anything" },
    yes: { type: "boolean", says: "make changes without asking the user" },
    api: {
      type: "string",
      value: "<address>",
      says: `the address of the API, such as https://github.example.com/api/v3. Default: ${about.api}`,
    },
    timeout: { type: "string", value: "<seconds>", says: "wait at most this long for a response. Default: 30" },
  },
  environment: {
    [about.tokenVariable]: { says: `the token of your account, from ${about.tokenPage}`, isSecret: true },
    [about.apiVariable]: { says: "the address of the API; the flag --api goes before" },
  },
  create(line) {
    const { token, api: known } = environmentSettings();
    const seconds = line.count("timeout");
    return createGithub({
      ...(token !== undefined && { account: token }),
      api: addressIn(line.text("api")) ?? known,
      readOnly: line.isSet("read-only"),
      ask: !line.isSet("yes"),
      ...(seconds !== undefined && { limits: { timeoutMs: seconds * 1000 } }),
    });
  },
});

function addressIn(flag: string | undefined): string | undefined {
  try {
    return flag === undefined ? undefined : toApi(flag, "--api");
  } catch (reason) {
    throw new UsageError((reason as Error).message);
  }
}
