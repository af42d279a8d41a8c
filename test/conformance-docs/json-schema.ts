import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { JsonSchema } from "../../packages/portolan/src/schema/infer.ts";
import { compileJsonSchema } from "../../packages/portolan/src/schema/json-schema.ts";
import type { Draft } from "../json-schema/expectations.ts";
import { drafts, filesOf, groupsOf } from "../json-schema/suite.ts";

/** The result of a validator in the official JSON Schema test suite. */
export interface Score {
  readonly validator: string;
  readonly draft: Draft;
  readonly right: number;
  readonly wrong: number;
  /** Cases whose schema the validator does not accept. */
  readonly refused: number;
}

type Compile = (schema: JsonSchema | boolean) => (value: unknown) => boolean;

const validators: { readonly [name: string]: (draft: Draft) => Compile } = {
  Portolan: () => (schema) => {
    const check = compileJsonSchema(schema, { trusted: true });
    return (value) => check(value).length === 0;
  },
  "Ajv, which the official SDKs use": (draft) => {
    const options = { strict: false, validateFormats: false, logger: false } as const;
    const ajv = draft === "draft7" ? new Ajv(options) : new Ajv2020(options);
    return (schema) => {
      // Schemas of earlier groups must not be visible to this one.
      ajv.removeSchema();
      const check = ajv.compile(schema);
      return (value) => check(value) === true;
    };
  },
};

/** Returns the scores of our validator and of the one that the official SDKs use. */
export function scoreValidators(): Score[] {
  return Object.entries(validators).flatMap(([validator, compileFor]) =>
    drafts.map((draft) => ({ validator, draft, ...count(compileFor(draft), draft) })),
  );
}

function count(compile: Compile, draft: Draft): Pick<Score, "right" | "wrong" | "refused"> {
  const score = { right: 0, wrong: 0, refused: 0 };
  for (const { schema, tests } of filesOf(draft).flatMap((file) => groupsOf(draft, file))) {
    const check = attempt(() => compile(schema));
    for (const { data, valid } of tests) {
      if (check === undefined) score.refused += 1;
      else score[attempt(() => check(data)) === valid ? "right" : "wrong"] += 1;
    }
  }
  return score;
}

function attempt<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}
