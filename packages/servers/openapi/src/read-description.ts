import { readFile, stat } from "node:fs/promises";
import { createSafeFetch } from "portolan/net";
import { DescriptionError, isJson, type OpenApiDescription } from "./description.ts";

/** GitHub's own has 12 MB. */
const maxBytes = 32 * 1024 * 1024;
const timeoutMs = 30_000;

/**
 * Reads a description from a file or an https address, as JSON or YAML. Throws a `DescriptionError` that names the place
 * if it cannot be read.
 */
export async function readDescription(place: string): Promise<OpenApiDescription> {
  const text = /^https?:\/\//i.test(place) ? await download(place) : await readText(place);
  const parsed = await parse(text, place);
  if (!isJson(parsed)) throw new DescriptionError(`${place}: expected an OpenAPI description, which is an object`);
  return parsed;
}

async function download(address: string): Promise<string> {
  const url = new URL(address);
  const isLocal = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(url.hostname);
  // The person has named this address, so it may be on this machine.
  const fetch = createSafeFetch({ maxBytes, timeoutMs, decode: true, privateHosts: isLocal ? [url.hostname] : [] });
  const response = await fetch(url, { headers: { accept: "application/json, application/yaml;q=0.9, */*;q=0.5" } });
  if (!response.ok) throw new DescriptionError(`${address}: expected a description, got status ${response.status}`);
  return response.text();
}

async function readText(file: string): Promise<string> {
  try {
    const { size } = await stat(file);
    if (size > maxBytes) throw new DescriptionError(`${file}: expected at most ${maxBytes} bytes, got ${size}`);
    return await readFile(file, "utf8");
  } catch (cause) {
    if (cause instanceof DescriptionError) throw cause;
    throw new DescriptionError(`${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

/** Parses JSON; YAML only for other texts, because its parser is loaded for them alone and is far slower. */
async function parse(text: string, place: string): Promise<unknown> {
  const trimmed = text.replace(/^\uFEFF/, "").trimStart();
  try {
    if (trimmed.startsWith("{")) return JSON.parse(trimmed);
    const { parse: parseYaml } = await import("yaml");
    return parseYaml(trimmed, { maxAliasCount: 100, strict: true, uniqueKeys: true });
  } catch (cause) {
    const [line] = (cause as Error).message.split("\n", 1);
    throw new DescriptionError(`${place}: expected JSON or YAML: ${line}`, { cause });
  }
}
