// Finds the packages that are published: every workspace that is not private, after those that it depends on.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Returns each package with its folder, its path in the repository and its manifest. */
export function findPackages(root) {
  const found = ["packages", "packages/servers"]
    .flatMap((group) => readdirSync(join(root, group)).map((name) => `${group}/${name}`))
    .filter((directory) => existsSync(join(root, directory, "package.json")))
    .map((directory) => {
      const folder = join(root, directory);
      const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      return { name: manifest.name, folder, directory, manifest, isServer: directory.startsWith("packages/servers/") };
    })
    .filter(({ manifest }) => manifest.private !== true);
  return inOrder(found);
}

/** Returns what a package needs when it is installed, by name. */
export function dependenciesOf({ dependencies, peerDependencies, optionalDependencies }) {
  return { ...dependencies, ...peerDependencies, ...optionalDependencies };
}

function inOrder(packages) {
  const ordered = new Set();
  const visit = (one, path) => {
    if (path.includes(one))
      throw new Error(`packages depend on each other: ${path.map(({ name }) => name).join(", ")}`);
    const needed = dependenciesOf(one.manifest);
    for (const other of packages) if (Object.hasOwn(needed, other.name)) visit(other, [...path, one]);
    ordered.add(one);
  };
  for (const one of packages) visit(one, []);
  return [...ordered];
}
