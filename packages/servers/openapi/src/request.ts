import { ToolError } from "portolan/server";
import type { ServiceCall } from "portolan-server-kit/service";
import { isJson, type Json } from "./description.ts";
import type { Input } from "./input.ts";
import type { Body, Operation, Parameter } from "./operations.ts";

/** The body of a request. A form of several parts is encoded when it is sent. */
export type ApiContent = Pick<ServiceCall, "json" | "content"> & { readonly parts?: FormData };

/** The request of a call, without credentials. */
export type ApiRequest = ApiContent & {
  readonly path: string;
  readonly query: readonly string[];
  readonly headers: { readonly [name: string]: string };
  readonly cookies: readonly string[];
};

/** Puts the arguments of a call where the description says. Throws a `ToolError` for one that cannot be sent. */
export function requestOf(operation: Operation, input: Input, values: Json): ApiRequest {
  const variables = new Map<string, string>();
  const query: string[] = [];
  const headers: { [name: string]: string } = {};
  const cookies: string[] = [];
  const members: [string, unknown, boolean][] = [];
  let body: unknown;
  for (const argument of input.arguments) {
    const value = values[argument.name];
    if (value === undefined) continue;
    if (argument.kind === "body") body = value;
    else if (argument.kind === "member") members.push([argument.member, value, argument.isFile]);
    else {
      const { parameter } = argument;
      if (parameter.place === "path") variables.set(parameter.name, inPath(parameter, value));
      else if (parameter.place === "query") query.push(...inQuery(parameter, value));
      else if (parameter.place === "header") headers[parameter.name.toLowerCase()] = inHeader(parameter, value);
      else cookies.push(...inQuery(parameter, value));
    }
  }
  const path = operation.path.replace(/\{([^{}]+)\}/g, (_, name: string) => variables.get(name) ?? "");
  refuseDots(path);
  return { path, query, headers, cookies, ...contentOf(operation.body, body, members) };
}

/** An address is normalized before it is sent: `..` would lead to another operation. */
function refuseDots(path: string): void {
  const segments = path.split("/").slice(1);
  if (segments.some((segment) => segment === "." || segment === "..")) {
    throw new ToolError('A part of the path must not be "." or ".."');
  }
}

const encode = encodeURIComponent;

/** Returns the text of a value that is no list and no object; JSON for those. */
function plain(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

function inPath(parameter: Parameter, value: unknown): string {
  const { name, style, isExploded, isJsonText } = parameter;
  if (isJsonText) return encode(JSON.stringify(value));
  const prefix = { label: ".", matrix: ";" }[style] ?? "";
  const separator = isExploded ? prefix || "," : ",";
  const label = style === "matrix" ? `${encode(name)}=` : "";
  const text = Array.isArray(value)
    ? value.map((one) => (isExploded ? label : "") + encode(plain(one))).join(separator)
    : isJson(value)
      ? membersOf(value, isExploded ? "=" : ",").join(separator)
      : encode(plain(value));
  if (text === "") throw new ToolError(`${name}: expected a value, because it is a part of the path`);
  const isLabelled = style === "matrix" && !(isExploded && typeof value === "object");
  return `${prefix}${isLabelled ? label : ""}${text}`;
}

function membersOf(value: Json, separator: string): string[] {
  return Object.entries(value).map(([name, member]) => `${encode(name)}${separator}${encode(plain(member))}`);
}

const listSeparators: { readonly [style: string]: string } = { spaceDelimited: "%20", pipeDelimited: "%7C" };

/** Returns the parts of a query, such as `tag=a` and `tag=b`. */
function inQuery(parameter: Parameter, value: unknown): string[] {
  const { name, style, isExploded, allowsReserved, isJsonText } = parameter;
  const write = (text: unknown) => (allowsReserved ? encodeUnreserved(plain(text)) : encode(plain(text)));
  if (isJsonText) return [`${encode(name)}=${encode(JSON.stringify(value))}`];
  if (Array.isArray(value)) {
    if (isExploded) return value.map((one) => `${encode(name)}=${write(one)}`);
    return [`${encode(name)}=${value.map(write).join(listSeparators[style] ?? ",")}`];
  }
  if (!isJson(value)) return [`${encode(name)}=${write(value)}`];
  const members = Object.entries(value);
  if (style === "deepObject") return members.map(([key, member]) => `${encode(name)}[${encode(key)}]=${write(member)}`);
  if (isExploded) return members.map(([key, member]) => `${encode(key)}=${write(member)}`);
  return [`${encode(name)}=${members.map(([key, member]) => `${encode(key)},${write(member)}`).join(",")}`];
}

/** Leaves reserved characters as they are, except those that would end the value. */
function encodeUnreserved(text: string): string {
  return encode(text).replace(/%(3A|2F|3F|5B|5D|40|21|24|27|28|29|2A|2C|3B)/g, (code) => decodeURIComponent(code));
}

function inHeader({ name, isExploded, isJsonText }: Parameter, value: unknown): string {
  const text = isJsonText
    ? JSON.stringify(value)
    : Array.isArray(value)
      ? value.map(plain).join(",")
      : isJson(value)
        ? Object.entries(value)
            .map(([key, member]) => `${key}${isExploded ? "=" : ","}${plain(member)}`)
            .join(",")
        : plain(value);
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(text)) {
    throw new ToolError(`${name}: expected a text without line breaks and other characters that headers cannot carry`);
  }
  return text;
}

type Member = readonly [name: string, value: unknown, isFile: boolean];

function contentOf(body: Body | undefined, whole: unknown, members: readonly Member[]): ApiContent {
  if (!body || (whole === undefined && members.length === 0)) {
    return body?.isRequired && body.kind === "json" ? { json: {} } : {};
  }
  const { kind, mediaType } = body;
  const value = whole ?? Object.fromEntries(members.map(([name, member]) => [name, member]));
  switch (kind) {
    case "json":
      return /^application\/json\s*(;|$)/i.test(mediaType)
        ? { json: value }
        : { content: { mediaType, body: JSON.stringify(value) } };
    case "form":
      return { content: { mediaType, body: new URLSearchParams(formOf(value)).toString() } };
    case "multipart":
      return { parts: partsOf(whole === undefined ? members : toMembers(whole)) };
    case "text":
      return { content: { mediaType, body: plain(value) } };
    case "binary":
      return { content: { mediaType, body: fromBase64("body", value) } };
  }
}

function toMembers(value: unknown): Member[] {
  return isJson(value)
    ? Object.entries(value).map(([name, member]) => [name, member, false])
    : [["body", value, false]];
}

/** Returns the fields of a form; members of members have names such as `address[city]`. */
function formOf(value: unknown, name = ""): [string, string][] {
  if (isJson(value)) {
    return Object.entries(value).flatMap(([key, member]) => formOf(member, name === "" ? key : `${name}[${key}]`));
  }
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => formOf(item, isJson(item) ? `${name}[${index}]` : name));
  }
  return value === undefined ? [] : [[name, plain(value)]];
}

function partsOf(members: readonly Member[]): FormData {
  const form = new FormData();
  for (const [name, value, isFile] of members) {
    for (const one of isFile && Array.isArray(value) ? value : [value]) {
      if (isFile) form.append(name, new Blob([fromBase64(name, one)]), name);
      else form.append(name, plain(one));
    }
  }
  return form;
}

function fromBase64(name: string, value: unknown): Uint8Array<ArrayBuffer> {
  const text = typeof value === "string" ? value.replace(/\s+/g, "") : "";
  if (text === "" || !/^[A-Za-z0-9+/_-]*={0,2}$/.test(text)) throw new ToolError(`${name}: expected bytes as base64`);
  return new Uint8Array(Buffer.from(text, "base64"));
}
