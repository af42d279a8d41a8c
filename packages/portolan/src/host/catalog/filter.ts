import { compileGlob } from "../policy/glob.ts";

/** Whether a name is among those that are wanted and not among those that are not; `*` stands for any characters. */
export function createFilter(names: {
  readonly only?: readonly string[] | undefined;
  readonly except?: readonly string[] | undefined;
}): (name: string) => boolean {
  const wanted = names.only?.map(compileGlob);
  const unwanted = (names.except ?? []).map(compileGlob);
  return (name) => (wanted?.some((fits) => fits(name)) ?? true) && !unwanted.some((fits) => fits(name));
}
