// One release: stages, checks, shows and publishes all packages.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { problemsOfChangelog, problemsOfPackages } from "./check.mjs";
import { findPackages } from "./packages.mjs";
import { publish } from "./publish.mjs";
import { stage } from "./stage.mjs";
import { readValues } from "./values.mjs";

/**
 * Runs a release and returns its exit code. A dry run stages and checks, says what would be published and what stops a
 * release, and fails only if a package is wrong: values that nobody has decided yet are no mistake.
 */
export async function release(root, options) {
  const { dryRun = false, provenance = false, build, env = process.env, print = console.log } = options;
  const { out = join(root, "dist/release"), valuesFile = join(root, "release.json") } = options;
  const { changelogFile = join(root, "CHANGELOG.md") } = options;

  const packages = findPackages(root);
  const version = packages[0].manifest.version;
  const { values, problems: undecided } = readValues(valuesFile);
  undecided.push(...problemsOfChangelog(readFileSync(changelogFile, "utf8"), version));
  if (!dryRun && undecided.length > 0) {
    print(["Nothing was published.", ...toList("Decide first", undecided)].join("\n"));
    return 1;
  }

  const failure = await build?.();
  if (failure !== undefined) {
    print(`Nothing was published: the build failed.\n${failure}`);
    return 1;
  }
  const staged = await stage(packages, { out, values });
  const wrong = [...problemsOfSources(root, version), ...(await problemsOfPackages(staged))];
  print(toTable(staged).join("\n"));
  print(`The tarballs${values.mcpNamespace ? " and each server.json for the MCP registry" : ""} are in ${out}.`);
  if (wrong.length > 0) {
    print(["", ...toList("These problems stop a release", [...wrong, ...undecided])].join("\n"));
    return 1;
  }
  if (dryRun) {
    const verdict = ["All checks passed. This was a dry run: nothing was published."];
    print(["", ...verdict, ...(undecided.length > 0 ? toList("Before a release, decide", undecided) : [])].join("\n"));
    return 0;
  }
  try {
    await publish(staged, { provenance, env, print });
  } catch (error) {
    print(`\n${error.message}\nRun the release again when the cause is gone: published packages are passed over.`);
    return 1;
  }
  return 0;
}

/** Returns the lines of sources that name another version: a version stands in several, and must be raised in all. */
function problemsOfSources(root, version) {
  const named = /\bversion(?:: | = )"(\d+\.\d+\.\d+)"|"user-agent": [^,]*?\/(\d+\.\d+\.\d+)/g;
  return ["packages", "packages/servers"].flatMap((group) =>
    readdirSync(join(root, group), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && entry.name !== "servers")
      .flatMap(({ name }) =>
        readdirSync(join(root, group, name, "src"), { recursive: true }).map((file) => join(group, name, "src", file)),
      )
      // New projects have a version of their own.
      .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts") && !file.includes("/scaffold/"))
      .flatMap((file) =>
        [...readFileSync(join(root, file), "utf8").matchAll(named)]
          .map(([, first, second]) => first ?? second)
          .filter((found) => found !== version)
          .map((found) => `${file} names the version ${found}; expected ${version}`),
      ),
  );
}

function toTable(staged) {
  const rows = staged.map(({ name, manifest, packed }) => [
    name,
    manifest.version,
    String(packed.files.length),
    `${(packed.size / 1024).toFixed(0)} KB`,
    `${(packed.unpackedSize / 1024).toFixed(0)} KB`,
  ]);
  const all = [["package", "version", "files", "tarball", "unpacked"], ...rows];
  const widths = all[0].map((_, column) => Math.max(...all.map((row) => row[column].length)));
  const toRow = (row) =>
    row.map((cell, column) => (column < 2 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]))).join("  ");
  return all.map(toRow);
}

function toList(title, lines) {
  return [`${title}:`, ...lines.map((line) => `  - ${line}`)];
}
