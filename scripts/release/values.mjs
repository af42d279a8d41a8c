// Reads release.json: what only the person who releases can decide, so nothing here has a default.
import { readFileSync } from "node:fs";

const isWebAddress = (value) => URL.canParse(value) && new URL(value).protocol === "https:";

/** Each value of release.json: an example for people, and its form. */
const expected = {
  repository: ["the address of the source, such as https://github.com/ada/portolan", isWebAddress],
  homepage: ["the address of the documentation, https://…", isWebAddress],
  bugs: ["the address where people report problems, https://…", isWebAddress],
  author: ["a name, such as Ada Lovelace <ada@example.com>", (value) => value.trim() !== ""],
  mcpNamespace: [
    "the namespace in the MCP registry, such as io.github.ada",
    (value) => /^[a-z\d][a-z\d.-]*[a-z\d]$/i.test(value),
  ],
};

/** Returns the values, those that are empty left out, and a sentence for each value that is missing or wrong. */
export function readValues(file) {
  const given = JSON.parse(readFileSync(file, "utf8"));
  const problems = Object.keys(given)
    .filter((name) => !Object.hasOwn(expected, name))
    .map((name) => `release.json: unknown value ${name}; known are ${Object.keys(expected).join(", ")}`);
  const values = {};
  for (const [name, [example, isValid]] of Object.entries(expected)) {
    const value = given[name];
    if (value === undefined || value === "") problems.push(`release.json: ${name} is empty; expected ${example}`);
    else if (typeof value !== "string" || !isValid(value)) {
      problems.push(`release.json: ${name}: expected ${example}, got ${JSON.stringify(value)}`);
    } else values[name] = value;
  }
  return { values, problems };
}
