// The rules of the MCP registry for server.json, edition 2025-12-11: those of its schema and those that it checks beyond.
import { schemaAddress } from "./server-json.mjs";

/** Returns one line for each rule that the value breaks: the place, what is expected there, and what stands there. */
export function problemsOfServerJson(value) {
  const problems = [];
  server({ value, path: "", report: (path, expected, got) => problems.push(toLine(path, expected, got)) });
  return problems;
}

function toLine(path, expected, got) {
  const place = path.replace(/^\./, "") || "server.json";
  return `${place}: expected ${expected}, got ${JSON.stringify(got) ?? "nothing"}`;
}

const server = object({
  $schema: required(text({ is: (value) => value === schemaAddress, says: schemaAddress })),
  name: required(
    text({
      ...{ min: 3, max: 200 },
      is: (value) => /^[a-z\d][a-z\d.-]*[a-z\d]\/[a-z\d][a-z\d._-]*[a-z\d]$/i.test(value),
      says: "a namespace and a name, such as io.github.ada/files",
    }),
  ),
  description: required(text({ min: 1, max: 100 })),
  version: required(version({ max: 255 })),
  title: text({ max: 100, is: (value) => value.trim() !== "", says: "a title" }),
  websiteUrl: text({ is: isSecureAddress, says: "an https address" }),
  repository: both(
    object({ url: required(text()), source: required(text()), id: text(), subfolder: text() }),
    repository,
  ),
  icons: list(
    object({
      src: required(text({ max: 255, is: isSecureAddress, says: "an https address" })),
      mimeType: oneOf("image/png", "image/jpeg", "image/jpg", "image/svg+xml", "image/webp"),
      sizes: list(text({ is: (value) => /^(\d+x\d+|any)$/.test(value), says: "a size such as 48x48, or any" })),
      theme: oneOf("light", "dark"),
    }),
  ),
  packages: list(
    both(
      object({
        registryType: required(text()),
        registryBaseUrl: text({ is: (value) => URL.canParse(value), says: "an address" }),
        identifier: required(text({ is: (value) => !value.includes(" "), says: "a name without spaces" })),
        version: version({ min: 1 }),
        fileSha256: text({ is: (value) => /^[a-f\d]{64}$/.test(value), says: "a SHA-256 digest in hexadecimal" }),
        runtimeHint: text(),
        runtimeArguments: list(argument),
        packageArguments: list(argument),
        environmentVariables: list(namedInput()),
        transport: required(object({ type: required(oneOf("stdio", "streamable-http", "sse")) })),
      }),
      packageTransport,
    ),
  ),
  remotes: list(remote),
  _meta: object({}),
});

function repository({ value: { url, source, subfolder }, path, report }) {
  const forms = {
    github: /^https?:\/\/(www\.)?github\.com\/[\w.-]+\/[\w.-]+\/?$/,
    gitlab: /^https?:\/\/(www\.)?gitlab\.com\/[\w.-]+(\/[\w.-]+)+\/?$/,
  };
  if (!Object.hasOwn(forms, source)) report(`${path}.source`, "github or gitlab", source);
  else if (!forms[source].test(url)) report(`${path}.url`, `the address of a repository at ${source}`, url);
  const isClean = (part) => /^[\w.-]+$/.test(part) && part !== "." && part !== "..";
  if (subfolder !== undefined && !subfolder.split("/").every(isClean)) {
    report(`${path}.subfolder`, "a relative path without . and ..", subfolder);
  }
}

/** Checks a value that users give: members that all inputs have, and more of its kind. */
function input(more = {}) {
  const members = {
    description: text(),
    isRequired: flag,
    isSecret: flag,
    format: oneOf("string", "number", "boolean", "filepath"),
    value: text(),
    default: text(),
    placeholder: text(),
    choices: list(text()),
  };
  return object({ ...members, variables: record(object(members)), ...more });
}

function namedInput() {
  return input({ name: required(text()) });
}

function argument(place) {
  const { value, path, report } = place;
  if (value?.type === "named") {
    const isName = (name) => name !== "" && !/[<> $]/.test(name);
    input({ isRepeated: flag, name: required(text({ is: isName, says: "a flag without its value" })) })(place);
    for (const member of ["value", "default"]) {
      const repeats = typeof value[member] === "string" && value.name && value[member].startsWith(value.name);
      if (repeats) report(`${path}.${member}`, "a value without the name of its flag", value[member]);
    }
    return;
  }
  input({ isRepeated: flag, type: required(oneOf("positional", "named")), valueHint: text() })(place);
  if (value?.type === "positional" && value.valueHint === undefined && value.value === undefined) {
    report(path, "valueHint or value", value);
  }
}

function packageTransport({ value, path, report }) {
  const given = value.transport ?? {};
  if (given.type === "stdio" && given.url) return report(`${path}.transport.url`, "nothing for stdio", given.url);
  if (given.type !== "streamable-http" && given.type !== "sse") return;
  const args = [...(value.runtimeArguments ?? []), ...(value.packageArguments ?? [])];
  const known = [...args, ...(value.environmentVariables ?? [])].flatMap(({ name, valueHint }) => [name, valueHint]);
  webTransport({ value: given, path: `${path}.transport`, report }, known);
}

function remote(place) {
  const { value, path, report } = place;
  object({ type: required(oneOf("streamable-http", "sse")), variables: record(input()) })(place);
  webTransport(place, Object.keys(value?.variables ?? {}));
  const { protocol, hostname = "" } = addressOf(value?.url) ?? {};
  const isLocal = hostname === "localhost" || hostname === "127.0.0.1" || hostname.endsWith(".localhost");
  if (protocol !== undefined && (protocol !== "https:" || isLocal)) {
    report(`${path}.url`, "a public https address", value.url);
  }
}

/** Checks address and headers; names in braces in the address must be known. */
function webTransport(place, known) {
  const { value, path, report } = place;
  const isAddress = (url) => /^https?:\/\/\S+$/.test(url) && addressOf(url) !== undefined;
  object({
    url: required(text({ is: isAddress, says: "an http or https address" })),
    headers: list(namedInput()),
  })(place);
  const named = [...String(value?.url ?? "").matchAll(/\{([^}]+)\}/g)].map(([, name]) => name);
  const unknown = named.find((name) => !known.includes(name));
  if (unknown !== undefined) report(`${path}.url`, `names of variables in braces`, unknown);
}

/** Returns the address of a template, with a number in place of each variable. */
function addressOf(template) {
  const filled = String(template).replaceAll(/\{[^}]+\}/g, "80");
  return URL.canParse(filled) ? new URL(filled) : undefined;
}

function isSecureAddress(value) {
  return URL.canParse(value) && new URL(value).protocol === "https:";
}

/** Checks a version: one, not a range of them. */
function version(bounds) {
  const isOne = (value) => value !== "latest" && !/^[\s^~<>=]|\s-\s|\|\||(^|\.)[xX*](\.|-|$)/.test(value);
  return text({ ...bounds, is: isOne, says: "one version, not a range or latest" });
}

function text({ min = 0, max = Number.POSITIVE_INFINITY, is = () => true, says = "a text" } = {}) {
  const length = max < Number.POSITIVE_INFINITY ? ` of ${min} to ${max} characters` : "";
  return ({ value, path, report }) => {
    const fits = typeof value === "string" && value.length >= min && value.length <= max && is(value);
    if (!fits) report(path, `${says}${length}`, value);
  };
}

function oneOf(...known) {
  return text({ is: (value) => known.includes(value), says: known.join(", ") });
}

function flag({ value, path, report }) {
  if (typeof value !== "boolean") report(path, "true or false", value);
}

function list(check) {
  return ({ value, path, report }) => {
    if (!Array.isArray(value)) return report(path, "a list", value);
    value.forEach((item, at) => {
      check({ value: item, path: `${path}[${at}]`, report });
    });
  };
}

/** Checks an object with any names. */
function record(check) {
  return ({ value, path, report }) => {
    if (!isObject(value)) return report(path, "an object", value);
    for (const [name, member] of Object.entries(value)) check({ value: member, path: `${path}.${name}`, report });
  };
}

/** Checks the members that are there; members without a check are allowed. */
function object(members) {
  return ({ value, path, report }) => {
    if (!isObject(value)) return report(path, "an object", value);
    for (const [name, check] of Object.entries(members)) {
      if (value[name] !== undefined || check.isRequired) check({ value: value[name], path: `${path}.${name}`, report });
    }
  };
}

function required(check) {
  return Object.assign((place) => check(place), { isRequired: true });
}

/** Checks the members first, then what they mean together. */
function both(members, together) {
  return (place) => {
    members(place);
    if (isObject(place.value)) together(place);
  };
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
