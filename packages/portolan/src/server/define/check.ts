import { nameOf, PortolanError, type PortolanErrorCode } from "../../errors.ts";
import { isObject } from "../../schema/shape.ts";

/** The mistake of an author, in one line: where, what was expected and what came. */
export function unexpected(
  where: string,
  expected: string,
  got: unknown,
  code: PortolanErrorCode = "invalid-definition",
): PortolanError {
  return new PortolanError(code, `${where}: expected ${expected}, got ${nameOf(got)}`);
}

/** Refuses a definition that is no object with a function under this name. */
export function expectFunctionIn(where: string, definition: unknown, member: string): void {
  if (!isObject(definition)) throw unexpected(where, `{ ${member} }`, definition);
  expectFunction(`${where}: ${member}`, definition[member]);
}

/** Refuses what is no function. */
export function expectFunction(where: string, value: unknown, code?: PortolanErrorCode): void {
  if (typeof value !== "function") throw unexpected(where, "a function", value, code);
}
