import { at, isObject, isSame, listAt, show } from "../json.ts";
import { check, NotApplicable, type Reply } from "../reply.ts";
import type { Scenario, Stage } from "../scenario.ts";

async function callStructured(stage: Stage): Promise<{ schema: unknown; reply: Reply; value: unknown }> {
  const use = stage.tool("structured");
  const schema = at(
    stage.surface.tools.find((tool) => at(tool, "name") === use.name),
    "outputSchema",
  );
  if (schema === undefined) throw new NotApplicable(`the tool ${use.name} has no outputSchema`);
  const reply = await (await stage.shared()).call(use);
  return { schema, reply, value: reply.result()["structuredContent"] };
}

export const structured: readonly Scenario[] = [
  {
    id: "structured/conforms",
    title: "a structured result is what the output schema of its tool says",
    requirements: ["G4", "G5"],
    strength: "must",
    since: "2025-06-18",
    needs: ["tools"],
    async run(stage) {
      const { schema, reply, value } = await callStructured(stage);
      const breach = value === undefined ? "it is missing" : findBreach(schema, value);
      check(breach === undefined, () => reply.evidence(`structuredContent by ${show(schema)}, but ${breach}`));
      return reply.proof;
    },
  },
  {
    id: "structured/mirrored",
    title: "a structured result is there as text as well",
    requirements: ["G5"],
    strength: "should",
    since: "2025-06-18",
    needs: ["tools"],
    async run(stage) {
      const { reply, value } = await callStructured(stage);
      const texts = listAt(reply.result(), "content").map((block) => at(block, "text"));
      check(
        texts.some((text) => isSame(parse(text), value)),
        () => reply.evidence("structuredContent as text too"),
      );
      return reply.proof;
    },
  },
];

function parse(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return undefined;
  }
}

const typeChecks: { readonly [type: string]: (value: unknown) => boolean } = {
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
  if (wanted.length > 0 && !wanted.some((type) => typeChecks[type]?.(value)))
    return `${place} is not of type ${wanted}`;
  if ("const" in schema && !isSame(schema["const"], value)) return `${place} is not the constant`;
  const choices = schema["enum"];
  if (Array.isArray(choices) && !choices.some((choice) => isSame(choice, value)))
    return `${place} is none of the choices`;
  if (isObject(value)) return findInObject(schema, value, place);
  if (Array.isArray(value))
    return firstBreach(value.map((item, index) => findBreach(schema["items"], item, `${place}[${index}]`)));
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
  return firstBreach(
    Object.entries(value).map(([name, inner]) =>
      findBreach(Object.hasOwn(known, name) ? known[name] : additionalProperties, inner, `${place}.${name}`),
    ),
  );
}

function firstBreach(breaches: readonly (string | undefined)[]): string | undefined {
  return breaches.find((breach) => breach !== undefined);
}
