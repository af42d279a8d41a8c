// Publishes tarballs with npm, in the order in which they depend on each other.
import { execFile } from "node:child_process";

/**
 * Publishes the staged packages. A package that the registry already has with the same content is passed over, so that a
 * release that stopped in the middle can be run again. Stops at the first failure: later packages depend on earlier ones.
 */
export async function publish(staged, { provenance, env, print }) {
  for (const [at, { name, manifest, tarball, packed }] of staged.entries()) {
    const { failure } = await npm(
      ["publish", tarball, "--ignore-scripts", ...(provenance ? ["--provenance"] : [])],
      env,
    );
    if (failure === undefined) {
      print(`published ${name} ${manifest.version}`);
      continue;
    }
    const published = await integrityIn(`${name}@${manifest.version}`, env);
    if (published === packed.integrity) {
      print(`${name} ${manifest.version} was already published with this content`);
      continue;
    }
    const rest = staged.slice(at + 1).map((other) => other.name);
    const why =
      published === undefined
        ? `${name} was not published: ${failure}`
        : `${name} ${manifest.version} is already published with other content. Raise the version of all packages.`;
    throw new Error([why, ...(rest.length > 0 ? [`Not tried: ${rest.join(", ")}.`] : [])].join("\n"));
  }
}

/** Returns the digest of a published version; nothing if the registry does not have it. */
async function integrityIn(spec, env) {
  const { stdout } = await npm(["view", spec, "dist.integrity", "--json", "--prefer-online"], env);
  try {
    const found = JSON.parse(stdout);
    return typeof found === "string" ? found : undefined;
  } catch {
    // npm printed nothing: there is no such version.
    return undefined;
  }
}

/** Runs npm. `failure` is what it says if it fails. */
function npm(args, env) {
  return new Promise((resolve) => {
    execFile("npm", args, { env, maxBuffer: 16 * 1024 * 1024 }, (error, stdout, stderr) => {
      const said = stderr
        .split("\n")
        .filter((line) => /^npm error (?!code E|A complete log)./.test(line))
        .map((line) => line.replace(/^npm error ?/, ""))
        .join("\n")
        .trim();
      resolve({ stdout, failure: error === null ? undefined : said || error.message });
    });
  });
}
