import { PortolanError } from "../../errors.ts";

const maxBytes = 256 * 1024;
const patienceMs = 5_000;

/** Fetches a JSON object from an address that the operator has configured, or that such a one names. */
export async function fetchJson(url: string, init: RequestInit = {}): Promise<{ readonly [member: string]: unknown }> {
  const where = `${init.method ?? "GET"} ${url}`;
  const response = await fetch(url, { redirect: "error", signal: AbortSignal.timeout(patienceMs), ...init }).catch(
    (cause) => {
      throw new PortolanError("connection-closed", `${where} failed: ${(cause as Error).message}`, { cause });
    },
  );
  const text = await readSome(response, where);
  if (!response.ok) throw new PortolanError("http-status", `${where} answered ${response.status}`);
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return value as { readonly [member: string]: unknown };
    }
  } catch {}
  throw new PortolanError("answer-invalid", `${where}: expected a JSON object, got something else`);
}

async function readSome(response: Response, where: string): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new PortolanError("message-too-large", `${where}: expected at most ${maxBytes} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
