import { PortolanError } from "portolan";
import type { RootDefinition } from "./answers/forms.ts";
import type { RootWatch } from "./node/roots.ts";

/** Replaces `fileSink` of `activity/node/file.ts` on runtimes without files. */
export async function fileSink(): Promise<never> {
  throw requiresNode("openActivityFile", "keep the log with `openActivity` and a sink of your own");
}

/** Replaces `verifyFile` of `activity/node/file.ts`. */
export async function verifyFile(): Promise<never> {
  throw requiresNode("verifyActivityFile", "verify a log with its method `verify`");
}

/** Replaces `readConfigs` of `node/config/read.ts`. */
export async function readConfigs(): Promise<never> {
  throw requiresNode("createHost", "pass `servers` as an object instead of a path");
}

/** Replaces `watchRoots` of `node/roots.ts`: without a file system, every root counts as present. */
export function watchRoots(): Pick<RootWatch, "present" | "set" | "end"> {
  let all: readonly RootDefinition[] = [];
  return {
    get present() {
      return all;
    },
    async set(roots) {
      all = roots;
    },
    end() {},
  };
}

function requiresNode(name: string, instead: string): PortolanError {
  return new PortolanError("invalid-argument", `${name}: this runtime is not Node; ${instead}`);
}
