import { isObject, isSame } from "./json.ts";

const types: { readonly [type: string]: (value: unknown) => boolean } = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: Number.isInteger,
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
};

/** Where a value breaks the plain keywords of a schema; undefined when it does not. Other keywords are not looked at. */
export function findBreach(schema: unknown, value: unknown, place = "it"): string | undefined {
  if (schema === false) return `${place} is not allowed`;
  if (!isObject(schema)) return undefined;
  const wanted = [schema["type"]].flat().filter((type) => typeof type === "string");
  if (wanted.length > 0 && !wanted.some((type) => types[type]?.(value))) return `${place} is not of type ${wanted}`;
  if ("const" in schema && !isSame(schema["const"], value)) return `${place} is not the constant`;
  const choices = schema["enum"];
  if (Array.isArray(choices) && !choices.some((choice) => isSame(choice, value)))
    return `${place} is none of the choices`;
  if (isObject(value)) return findInObject(schema, value, place);
  if (Array.isArray(value))
    return first(value.map((item, index) => findBreach(schema["items"], item, `${place}[${index}]`)));
  return undefined;
}

function findInObject(
  schema: { readonly [name: string]: unknown },
  value: { readonly [name: string]: unknown },
  place: string,
): string | undefined {
  const { required, properties, additionalProperties } = schema;
  const missing = Array.isArray(required) ? required.find((name) => !Object.hasOwn(value, String(name))) : undefined;
  if (missing !== undefined) return `${place}.${missing} is missing`;
  const known = isObject(properties) ? properties : {};
  return first(
    Object.entries(value).map(([name, inner]) =>
      findBreach(Object.hasOwn(known, name) ? known[name] : additionalProperties, inner, `${place}.${name}`),
    ),
  );
}

function first(breaches: readonly (string | undefined)[]): string | undefined {
  return breaches.find((breach) => breach !== undefined);
}
