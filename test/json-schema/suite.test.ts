import { describe, expect, test } from "vitest";
import { PortolanError } from "../../packages/portolan/src/errors.ts";
import type { JsonSchema } from "../../packages/portolan/src/schema/infer.ts";
import { compileJsonSchema } from "../../packages/portolan/src/schema/json-schema.ts";
import { isRemote, refusalOf, refused } from "./expectations.ts";
import { bundle, drafts, filesOf, type Group, groupsOf, isPresent } from "./suite.ts";

describe.skipIf(!isPresent).each(drafts)("the official test suite, %s", (draft) => {
  const files = isPresent ? filesOf(draft) : ["absent"];

  test.each(files)("%s", (file) => {
    const groups = groupsOf(draft, file);
    expect(groups.length).toBeGreaterThan(0);
    for (const group of groups) {
      const reason = refusalOf(draft, file, group.description);
      for (const trusted of [true, false]) {
        if (reason === undefined) expectAnswers(group, group.schema, trusted);
        else {
          const compile = () => compileJsonSchema(group.schema, { trusted });
          expect(compile, `${group.description} is listed (${reason}), but works`).toThrow(PortolanError);
        }
      }
    }
  });

  test("schemas refused for a reference to another document work when that document is embedded", () => {
    const remote = files
      .flatMap((file) => groupsOf(draft, file))
      .filter(({ file, description }) => isRemote(refusalOf(draft, file, description) ?? ""));
    expect(remote.length).toBeGreaterThan(10);
    for (const group of remote) expectAnswers(group, bundle(draft, group.schema as JsonSchema), true);
  });

  test("every listed group exists", () => {
    const known = files.flatMap((file) => [
      `${file}: *`,
      ...groupsOf(draft, file).map(({ description }) => `${file}: ${description}`),
    ]);
    for (const group of Object.keys(refused[draft])) expect(known).toContain(group);
  });
});

function expectAnswers({ file, description, tests }: Group, schema: JsonSchema | boolean, trusted: boolean): void {
  const before = JSON.stringify(schema);
  const check = compileJsonSchema(schema, { trusted });
  for (const { description: what, data, valid } of tests) {
    expect(check(data).length === 0, `${file}: ${description}, ${what}, trusted: ${trusted}`).toBe(valid);
  }
  expect(JSON.stringify(schema), "the schema is unchanged").toBe(before);
}
