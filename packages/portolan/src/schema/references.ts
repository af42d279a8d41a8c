import { invalid } from "./keyword.ts";
import { type Check, short } from "./run.ts";
import { isObject } from "./shape.ts";
import type { JsonSchema } from "./standard.ts";

/** A schema with an identifier of its own, or the root: what references inside it are relative to. */
export interface Resource {
  readonly uri: string;
  readonly root: unknown;
  readonly anchors: Map<string, JsonSchema>;
  /** Checks behind the dynamic anchors. */
  readonly dynamic: Map<string, Check>;
  /** The check of each schema inside. */
  readonly checks: Map<unknown, Check>;
}

/** The target of a reference, and the resource it lies in. */
export interface Target {
  readonly schema: unknown;
  readonly resource: Resource;
}

/** Only there to resolve relative references; nothing is ever fetched. */
const BASE = "schema:///";

/** All resources of one schema. */
export class Resources {
  readonly #byUri = new Map<string, Resource>();

  /** The resource a subschema belongs to, which is a new one when it has an identifier. */
  enter(schema: JsonSchema | boolean, outer: Resource | undefined, isDraft07: boolean): Resource {
    const { $id, $ref, $anchor, $dynamicAnchor } = isObject(schema) ? schema : {};
    // In draft-07 a reference hides what stands beside it.
    const id = typeof $id === "string" && !(isDraft07 && $ref !== undefined) ? $id : "";
    const [path = "", fragment = ""] = id.split("#");
    const resource = outer !== undefined && path === "" ? outer : this.#open(path, schema, outer);
    if (!isObject(schema)) return resource;
    for (const name of isDraft07 ? [fragment] : [$anchor, $dynamicAnchor]) {
      if (typeof name === "string" && name !== "") resource.anchors.set(name, schema);
    }
    return resource;
  }

  #open(path: string, root: unknown, outer: Resource | undefined): Resource {
    const uri = resolve(path, outer);
    const resource = { uri, root, anchors: new Map(), dynamic: new Map(), checks: new Map() };
    if (!this.#byUri.has(uri)) this.#byUri.set(uri, resource);
    return resource;
  }

  /** Looks a reference up; `undefined` when its target is not inside the schema. */
  find(reference: string, from: Resource): Target | undefined {
    const resource = reference.startsWith("#") ? from : this.#byUri.get(resolve(reference, from));
    const fragment = fragmentOf(reference);
    if (resource === undefined) return undefined;
    if (fragment === "") return { schema: resource.root, resource };
    if (fragment.startsWith("/")) return this.#follow(fragment, resource);
    const schema = resource.anchors.get(fragment);
    return schema && { schema, resource };
  }

  /** A pointer may lead into keywords nobody knows, and through other resources. */
  #follow(pointer: string, from: Resource): Target | undefined {
    let schema = from.root;
    let resource: Resource = from;
    for (const token of pointer.slice(1).split("/")) {
      const key = token.replaceAll("~1", "/").replaceAll("~0", "~");
      if (typeof schema !== "object" || schema === null || !Object.hasOwn(schema, key)) return undefined;
      schema = (schema as { [key: string]: unknown })[key];
      const id = isObject(schema) ? schema["$id"] : undefined;
      const entered: Resource | undefined = typeof id === "string" ? this.#byUri.get(resolve(id, resource)) : undefined;
      if (entered !== undefined && entered.root === schema) resource = entered;
    }
    return { schema, resource };
  }
}

/** The decoded part of a reference after the `#`. */
export function fragmentOf(reference: string): string {
  try {
    return decodeURIComponent(reference.split("#")[1] ?? "");
  } catch (cause) {
    throw invalid(`${short(reference)} is no valid URI`, cause);
  }
}

/** Makes a reference absolute, without the part after the `#`. */
function resolve(reference: string, from: Resource | undefined): string {
  const base = from?.uri ?? BASE;
  const [path = ""] = reference.split("#");
  try {
    return path === "" ? base : new URL(path, base).href;
  } catch (cause) {
    throw invalid(`${short(reference)} is no valid URI`, cause);
  }
}
