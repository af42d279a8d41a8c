import type { JsonObject, RpcError } from "../jsonrpc/message.ts";
import { isObject } from "../schema/shape.ts";
import type {
  Complete,
  DataKind,
  EffectiveTraits,
  Fallback,
  MethodTable,
  Revision,
  RevisionChanges,
} from "./revision.ts";

/** The facts from which the encoders of a revision are made. */
export interface EncoderParts {
  readonly traits: EffectiveTraits;
  readonly requests: MethodTable;
  readonly serverNotifications: ReadonlySet<string>;
  readonly asks: ReadonlySet<string>;
  readonly hidden: ReadonlyMap<DataKind, readonly string[]>;
  /** The changelogs up to the revision's own, and those of all later ones. */
  readonly upTo: readonly RevisionChanges[];
  readonly after: readonly RevisionChanges[];
}

/** Converts a value for one revision. Returns the same object if nothing changes. */
export type Encode = (value: JsonObject) => JsonObject;

type Encoder = Pick<Revision, "encodeResult" | "encodeComplete" | "encodeError" | "encodeNotification">;

/** Makes the functions that encode the neutral model for one revision. Values that do not change are not copied. */
export function createEncoder(parts: EncoderParts): Encoder {
  const { traits, requests, serverNotifications } = parts;
  const content = contentEncoder(parts);
  const results = resultEncoders(parts, content);
  const progress = hide(parts, "progress");

  const encodeComplete = (method: string, outcome: Complete) => {
    const encode = results.get(method) ?? results.get("");
    return encode ? encode(outcome.result, outcome) : outcome.result;
  };

  return {
    encodeComplete,
    encodeResult(method, outcome, self) {
      if (outcome.kind === "complete") {
        return traits.envelope(encodeComplete(method, outcome), requests.get(method), self, method);
      }
      if (outcome.kind === "extended") return { ...outcome.result, resultType: outcome.resultType };
      if (outcome.kind === "prepared" || traits.questions === "requests") throw new Error("unexpected outcome");
      return {
        resultType: "input_required",
        ...(outcome.requests !== undefined && { inputRequests: outcome.requests }),
        ...(outcome.state !== undefined && { requestState: outcome.state }),
      };
    },
    encodeError(error: RpcError) {
      const ownCode = traits.errorCodes[error.kind as keyof typeof traits.errorCodes];
      const { code, message, data } = error;
      const sent = ownCode ?? traits.allowedCode(code);
      return data === undefined ? { code: sent, message } : { code: sent, message, data };
    },
    encodeNotification(method, params) {
      if (!serverNotifications.has(method)) return undefined;
      return method === "notifications/progress" && progress ? progress(params) : params;
    },
  };
}

/** Returns a function that removes the members which the revision does not have, or undefined if there are none. */
export function hide(parts: EncoderParts, kind: DataKind): Encode | undefined {
  const names = parts.hidden.get(kind);
  if (!names) return undefined;
  const without = (value: JsonObject) =>
    Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));
  return (value) => {
    for (const name of names) if (name in value) return without(value);
    return value;
  };
}

/** Returns a function that converts content of unknown types and removes unknown members. */
export function contentEncoder(parts: EncoderParts): Encode | undefined {
  const fallbacks = new Map<string, Fallback>(parts.after.flatMap((changes) => Object.entries(changes.content ?? {})));
  const members = hide(parts, "content");
  const annotations = hide(parts, "annotations");
  const resource = hide(parts, "resource");
  const resourceContents = hide(parts, "resourceContents");
  if (fallbacks.size === 0 && !members && !annotations && !resource) return undefined;
  return (block) => {
    const fallback = fallbacks.get(String(block["type"]));
    const known = fallback ? fallback(block) : block;
    const { type } = known;
    let encoded = members ? members(known) : known;
    encoded = at(encoded, "annotations", annotations);
    if (type === "resource") encoded = at(encoded, "resource", resourceContents);
    return type === "resource_link" && resource ? resource(encoded) : encoded;
  };
}

type EncodeResult = (result: JsonObject, outcome: Complete) => JsonObject;

function resultEncoders(parts: EncoderParts, content: Encode | undefined): Map<string, EncodeResult> {
  const { structured } = parts.traits;
  const result = hide(parts, "result");
  const implementation = hide(parts, "implementation");
  const capabilities = hide(parts, "serverCapabilities");
  const callToolResult = hide(parts, "callToolResult");
  const resource = all(hide(parts, "resource"), member("annotations", hide(parts, "annotations")));
  const prompt = all(hide(parts, "prompt"), listMember("arguments", hide(parts, "promptArgument")));
  const tool = hide(parts, "tool");
  const contents = listMember("contents", hide(parts, "resourceContents"));
  const table: [method: string, encode: Encode | undefined][] = [
    ["", undefined],
    ["initialize", all(member("serverInfo", implementation), member("capabilities", capabilities))],
    ["server/discover", member("capabilities", capabilities)],
    ["tools/list", listMember("tools", tool)],
    ["resources/list", listMember("resources", resource)],
    ["resources/templates/list", listMember("resourceTemplates", resource)],
    ["resources/read", contents],
    ["prompts/list", listMember("prompts", prompt)],
    ["prompts/get", listMember("messages", member("content", content))],
  ];
  const encoders = new Map<string, EncodeResult>();
  for (const [method, encode] of table) {
    const whole = all(encode, result);
    if (whole) encoders.set(method, whole);
  }
  const called = all(listMember("content", content), callToolResult, result);
  if (structured !== "any" || called) {
    encoders.set("tools/call", (value, outcome) => {
      const wrapped = structured === "object" ? wrapStructured(value, outcome) : value;
      return called ? called(wrapped) : wrapped;
    });
  }
  return encoders;
}

function wrapStructured(result: JsonObject, outcome: Complete): JsonObject {
  const value = result["structuredContent"];
  const isWrapped = value !== undefined && (outcome.wrapped ?? !isObject(value));
  return isWrapped ? { ...result, structuredContent: { result: value } } : result;
}

/** Applies the encoders one after the other. Undefined if there is none. */
export function all(...encoders: (Encode | undefined)[]): Encode | undefined {
  const present = encoders.filter((encode) => encode !== undefined);
  if (present.length < 2) return present[0];
  return (value) => present.reduce((current, encode) => encode(current), value);
}

/** Encodes one member that is an object. */
export function member(name: string, encode: Encode | undefined): Encode | undefined {
  return encode && ((value) => at(value, name, encode));
}

/** Encodes each element of a member that is a list. */
export function listMember(name: string, encode: Encode | undefined): Encode | undefined {
  if (!encode) return undefined;
  return (value) => {
    const list = value[name];
    if (!Array.isArray(list)) return value;
    let changed = false;
    const encoded = list.map((element) => {
      const next = isObject(element) ? encode(element) : element;
      if (next !== element) changed = true;
      return next;
    });
    return changed ? { ...value, [name]: encoded } : value;
  };
}

function at(value: JsonObject, name: string, encode: Encode | undefined): JsonObject {
  const inner = value[name];
  if (!encode || !isObject(inner)) return value;
  const encoded = encode(inner);
  return encoded === inner ? value : { ...value, [name]: encoded };
}

/** Returns true if the schema says at its root that the value is an object. */
export function isObjectSchema(schema: JsonObject): boolean {
  return schema["type"] === "object";
}

/** Returns true if only objects match the schema, such as a union of objects. Older revisions allow no other output. */
export function yieldsObjects(schema: JsonObject): boolean {
  const { type, anyOf, oneOf = anyOf, allOf = oneOf } = schema;
  if (type !== undefined || !Array.isArray(allOf)) return type === "object";
  return allOf.every((variant) => isObject(variant) && yieldsObjects(variant));
}
