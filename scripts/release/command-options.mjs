// Learns the arguments, flags and environment variables of a reference server from its own program.
import { execFile } from "node:child_process";

/** Takes the place of `portolan/server/main` in the program: prints the options instead of starting the server. */
const recorder = `
  export class UsageError extends Error {}
  export const runMain = (options) => console.log(JSON.stringify(options));
`;

const hooks = `
  export const resolve = (specifier, context, next) => specifier === "portolan/server/main"
    ? { url: ${JSON.stringify(toModule(recorder))}, shortCircuit: true }
    : next(specifier, context);
`;

const preload = toModule(`import { register } from "node:module"; register(${JSON.stringify(toModule(hooks))});`);

const maxRunMs = 60_000;

/** Returns the options that a program passes to `runMain`. */
export function readCommandOptions(program) {
  const args = ["--no-warnings", "--import", preload, program];
  return new Promise((resolve, reject) => {
    // A program that serves without `runMain` would never end.
    execFile(process.execPath, args, { timeout: maxRunMs }, (error, stdout, stderr) => {
      const cause = /^\w*Error\b.*$/m.exec(stderr)?.[0] ?? stderr.trim();
      if (error !== null) reject(new Error(`${program} failed: ${cause || error.message}`));
      else if (stdout === "") reject(new Error(`${program} does not call runMain of portolan/server/main`));
      else resolve(JSON.parse(stdout));
    });
  });
}

function toModule(source) {
  return `data:text/javascript,${encodeURIComponent(source)}`;
}
