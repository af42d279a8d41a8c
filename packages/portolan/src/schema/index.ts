export { type CompiledSchema, compileSchema, conversions, type Validated, withJsonSchema } from "./infer.ts";
export { type Issue, toPath } from "./issues.ts";
export { compileJsonSchema, type JsonSchemaCheck, type JsonSchemaOptions } from "./json-schema.ts";
export {
  any,
  array,
  boolean,
  type Check,
  describe,
  integer,
  isObject,
  number,
  object,
  oneOf,
  optional,
  record,
  string,
} from "./shape.ts";
export type {
  JsonSchema,
  Schema,
  StandardIssue,
  StandardJsonSchema,
  StandardResult,
  StandardSchema,
} from "./standard.ts";
export type { Direction } from "./zod.ts";
