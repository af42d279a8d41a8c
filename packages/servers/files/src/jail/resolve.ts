import { lstat, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { ToolError } from "portolan/server";

/** The real path of what exists of a path, and the names after it. */
export async function deepest(path: string, lexical: string): Promise<{ real: string; missing: string[] }> {
  const missing: string[] = [];
  for (let current = resolve(lexical); ; current = dirname(current)) {
    try {
      return { real: await realpath(current), missing };
    } catch (reason) {
      const { code } = reason as NodeJS.ErrnoException;
      if (code === "ENOTDIR") throw new ToolError(`${path}: a part of the path is a file, not a folder`);
      if (code === "ELOOP") throw leadsOutside(path);
      if (code !== "ENOENT" || current === dirname(current)) throw reason;
    }
    // A link to nothing is there, although what it names is not: what is made behind it could be anywhere.
    if (await isThere(current)) throw leadsOutside(path);
    missing.unshift(basename(current));
  }
}

/** The same for an entry of what was found, which is not followed if it is a link. */
export async function withName(
  path: string,
  { real, missing }: { real: string; missing: string[] },
  name: string,
): Promise<{ real: string; missing: string[] }> {
  if (missing.length > 0) return { real, missing: [...missing, name] };
  const entry = join(real, name);
  if (!(await lstat(real)).isDirectory()) throw new ToolError(`${path}: a part of the path is a file, not a folder`);
  return (await isThere(entry)) ? { real: entry, missing: [] } : { real, missing: [name] };
}

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (reason) {
    const { code } = reason as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return false;
    throw reason;
  }
}

export function leadsOutside(path: string): ToolError {
  return new ToolError(`${path} is reached by a link that leads outside what is served, or to nothing`);
}
