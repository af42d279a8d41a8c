import { at, isObject, isSame, listAt, show } from "../json.ts";
import { check, NotApplicable, type Reply } from "../reply.ts";
import type { Scenario, ScenarioContext } from "../scenario.ts";

async function callStructured(context: ScenarioContext): Promise<{ schema: unknown; reply: Reply; value: unknown }> {
  const use = context.tool("structured");
  const schema = at(
    context.profile.tools.find((tool) => at(tool, "name") === use.name),
    "outputSchema",
  );
  if (schema === undefined) throw new NotApplicable(`the tool ${use.name} has no outputSchema`);
  const reply = await (await context.shared()).call(use);
  return { schema, reply, value: reply.result()["structuredContent"] };
}

export const structured: readonly Scenario[] = [
  {
    id: "structured/conforms",
    title: "a structured result matches the output schema of its tool",
    requirements: ["G4", "G5"],
    strength: "must",
    since: "2025-06-18",
    needs: ["tools"],
    async run(context) {
      const { schema, reply, value } = await callStructured(context);
      const breach = value === undefined ? "it is missing" : findViolation(schema, value);
      check(breach === undefined, () => reply.evidence(`structuredContent by ${show(schema)}, but ${breach}`));
      return reply.summary;
    },
  },
  {
    id: "structured/mirrored",
    title: "a structured result is also returned as text",
    requirements: ["G5"],
    strength: "should",
    since: "2025-06-18",
    needs: ["tools"],
    async run(context) {
      const { reply, value } = await callStructured(context);
      const texts = listAt(reply.result(), "content").map((block) => at(block, "text"));
      check(
        texts.some((text) => isSame(parse(text), value)),
        () => reply.evidence("structuredContent as text too"),
      );
      return reply.summary;
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

/** Returns where a value violates the basic keywords of a schema; other keywords are ignored. */
export function findViolation(schema: unknown, value: unknown, place = "it"): string | undefined {
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
    return firstViolation(value.map((item, index) => findViolation(schema["items"], item, `${place}[${index}]`)));
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
  return firstViolation(
    Object.entries(value).map(([name, inner]) =>
      findViolation(Object.hasOwn(known, name) ? known[name] : additionalProperties, inner, `${place}.${name}`),
    ),
  );
}

function firstViolation(breaches: readonly (string | undefined)[]): string | undefined {
  return breaches.find((breach) => breach !== undefined);
}
