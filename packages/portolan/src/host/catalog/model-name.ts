import { sha256 } from "../../storage/crypto.ts";

const maxChars = 64;
const between = "__";
const plain = /^[A-Za-z0-9_-]+$/;
/** What ends in this was shortened or spelled anew; a plain name that looks like it is, too, so the two never meet. */
const marked = /_x[a-z0-9]{10}$/;

/**
 * What a model calls a feature of a server: letters, digits, `_` and `-`, at most 64 of them, the same in every
 * conversation, and another for every other pair of server and name.
 */
export async function modelNameOf(server: string, name: string): Promise<string> {
  const joined = server + between + name;
  const isPlain = plain.test(joined) && joined.length <= maxChars && !marked.test(joined);
  // The first `__` divides: a server whose own name has one, or ends where it begins, is spelled anew.
  if (isPlain && !server.includes(between) && !server.endsWith("_")) return joined;
  const digest = (await sha256(JSON.stringify([server, name]))).toLowerCase().replace(/[^a-z0-9]/g, "");
  const mark = `_x${digest.slice(0, 10).padEnd(10, "0")}`;
  return spell(joined).slice(0, maxChars - mark.length) + mark;
}

function spell(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]+/g, "_");
}
