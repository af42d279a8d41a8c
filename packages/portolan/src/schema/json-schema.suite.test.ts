import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { PortolanError } from "../errors.ts";
import { compileJsonSchema } from "./json-schema.ts";
import type { JsonSchema } from "./standard.ts";

// The official JSON Schema test suite lies beside the project; a user's clone does not have it.
const suite = fileURLToPath(new URL("../../../../../shared/json-schema-test-suite/tests", import.meta.url));
const isPresent = existsSync(suite);
if (!isPresent) console.log(`skipped: the JSON Schema test suite is not at ${suite}`);

interface Group {
  description: string;
  schema: JsonSchema | boolean;
  tests: { description: string; data: unknown; valid: boolean }[];
}

const REMOTE = "refers to another document, and nothing is fetched";
const DIALECT = "a meta-schema of one's own is another dialect";

/** Groups whose schema is refused by design. No case may be answered wrongly. */
const refused: { [draft: string]: { [group: string]: string } } = {
  "draft2020-12": {
    "defs: validate definition against metaschema": REMOTE,
    "ref: remote ref, containing refs itself": REMOTE,
    "refRemote: *": REMOTE,
    "dynamicRef: strict-tree schema, guards against misspelled properties": REMOTE,
    "dynamicRef: tests for implementation dynamic anchor and reference link": REMOTE,
    "dynamicRef: $ref and $dynamicAnchor are independent of order - $defs first": REMOTE,
    "dynamicRef: $ref and $dynamicAnchor are independent of order - $ref first": REMOTE,
    "dynamicRef: $ref to $dynamicRef finds detached $dynamicAnchor": REMOTE,
    "vocabulary: schema that uses custom metaschema with with no validation vocabulary": DIALECT,
    "vocabulary: ignore unrecognized optional vocabulary": DIALECT,
  },
  draft7: {
    "definitions: validate definition against metaschema": REMOTE,
    "ref: remote ref, containing refs itself": REMOTE,
    "refRemote: *": REMOTE,
  },
};

const drafts = [
  { draft: "draft2020-12", dialect: "https://json-schema.org/draft/2020-12/schema" },
  { draft: "draft7", dialect: "http://json-schema.org/draft-07/schema#" },
];

describe.skipIf(!isPresent).each(drafts)("the official test suite, $draft", ({ draft, dialect }) => {
  const files = isPresent ? readdirSync(`${suite}/${draft}`).filter((name) => name.endsWith(".json")) : ["absent.json"];

  test.each(files)("%s", (file) => {
    const groups = JSON.parse(readFileSync(`${suite}/${draft}/${file}`, "utf8")) as Group[];
    expect(groups.length).toBeGreaterThan(0);
    const name = file.replace(".json", "");
    for (const { description, schema, tests } of groups) {
      const group = `${name}: ${description}`;
      const reason = refused[draft]?.[group] ?? refused[draft]?.[`${name}: *`];
      const named = typeof schema === "object" && !("$schema" in schema) ? { $schema: dialect, ...schema } : schema;
      for (const trusted of [true, false]) {
        if (reason !== undefined) {
          expect(() => compileJsonSchema(named, { trusted }), `${group} is listed (${reason}), but works`).toThrow(
            PortolanError,
          );
          continue;
        }
        const before = JSON.stringify(named);
        const check = compileJsonSchema(named, { trusted });
        for (const { description: what, data, valid } of tests) {
          expect(check(data).length === 0, `${group}, ${what}, trusted: ${trusted}`).toBe(valid);
        }
        expect(JSON.stringify(named), "the schema is left as it was").toBe(before);
      }
    }
  });

  test("every listed group exists", () => {
    const known = new Set(
      files.flatMap((file) => {
        const groups = JSON.parse(readFileSync(`${suite}/${draft}/${file}`, "utf8")) as Group[];
        const name = file.replace(".json", "");
        return [`${name}: *`, ...groups.map(({ description }) => `${name}: ${description}`)];
      }),
    );
    for (const group of Object.keys(refused[draft] ?? {})) expect(known).toContain(group);
  });
});
