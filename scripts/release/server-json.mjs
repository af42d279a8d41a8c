// Makes the server.json of a reference server, by which the MCP registry knows it.

/** The edition of the registry's schema that we write. */
export const schemaAddress = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";

/** The arguments of servers by their placeholder in the help text. */
const argumentsByPlaceholder = {
  folder: { description: "A folder to serve", format: "filepath" },
  repository: { description: "The folder of a git repository to serve", format: "filepath" },
  description: { description: "The OpenAPI description: a file, or an https address" },
  url: { description: "The database: the path of an SQLite file, or postgres://user@host:5432/name" },
};

/**
 * Returns the entry of a server in the registry. It has the arguments that the server cannot start without, and its
 * environment variables. Flags are left out: all of them are optional, and editors ask for every argument that an entry
 * lists and pass it even if the answer is empty.
 */
export function toServerJson(
  { manifest, directory },
  { repository, homepage },
  { arguments: positional, environment },
) {
  const source = /^https:\/\/(github|gitlab)\.com\//.exec(repository ?? "")?.[1];
  // Names with a placeholder stand for many variables, which an entry cannot list.
  const variables = Object.entries(environment ?? {}).filter(([name]) => !name.includes("<"));
  return {
    $schema: schemaAddress,
    name: manifest.mcpName,
    description: manifest.description,
    version: manifest.version,
    ...(homepage !== undefined && { websiteUrl: homepage }),
    ...(source !== undefined && { repository: { url: repository, source, subfolder: directory } }),
    packages: [
      {
        registryType: "npm",
        identifier: manifest.name,
        version: manifest.version,
        runtimeHint: "npx",
        runtimeArguments: [{ type: "positional", value: "-y" }],
        transport: { type: "stdio" },
        ...(positional !== undefined && { packageArguments: [toArgument(positional)] }),
        ...(variables.length > 0 && { environmentVariables: variables.map(toVariable) }),
      },
    ],
  };
}

/** Returns the argument of a placeholder: `<folder>...`. */
function toArgument(placeholder) {
  const [, name, more] = /^<([a-z]+)>(\.\.\.)?$/.exec(placeholder) ?? [];
  const known = argumentsByPlaceholder[name];
  if (known === undefined) throw new Error(`scripts/release/server-json.mjs does not know the argument ${placeholder}`);
  return {
    type: "positional",
    valueHint: name,
    ...known,
    isRequired: true,
    ...(more !== undefined && { isRepeated: true }),
  };
}

function toVariable([name, { says, isSecret = false }]) {
  return { name, description: `${says[0].toUpperCase()}${says.slice(1)}`, isRequired: false, isSecret };
}
