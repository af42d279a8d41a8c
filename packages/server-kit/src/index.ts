export { array, boolean, count, integer, object, string } from "./json-schema.ts";
export { annotations, textResult, toolErrorsAsInvalidParams } from "./tools.ts";
