import { closeSync, openSync, readSync, statSync } from "node:fs";
import { resolve } from "node:path";

/** The parsed address of a database. */
export type Address =
  | { readonly dialect: "sqlite"; readonly file: string }
  | { readonly dialect: "postgresql"; readonly url: string };

/** Error for an address that names no usable database; its message contains no secrets. */
export class BadAddress extends Error {
  override readonly name = "BadAddress";
}

const header = "SQLite format 3\0";

/** Parses `sqlite:<path>`, a path, or `postgres://…`. Errors do not repeat the address: it may contain a password. */
export function readAddress(text: string): Address {
  if (/^postgres(ql)?:/i.test(text)) {
    // PostgreSQL allows a user without a host: the host is then a query parameter or comes from the environment.
    if (!URL.canParse(text.replace(/^(\w+:\/\/[^/?#]*@)(?=[/?])/, "$1host"))) {
      throw new BadAddress("expected an address such as postgres://user@host:5432/name");
    }
    return { dialect: "postgresql", url: text };
  }
  const [, scheme] = /^([a-z][a-z0-9+.-]+):/i.exec(text) ?? [];
  if (scheme !== undefined && scheme.toLowerCase() !== "sqlite") {
    throw new BadAddress(`expected sqlite:<path>, a path or postgres://…, got an address that begins with ${scheme}:`);
  }
  const path = text.replace(/^sqlite:(\/\/(?=\/))?/i, "");
  if (path === "" || path === ":memory:") throw new BadAddress("expected the path of an SQLite database file");
  // An absolute path: SQLite could read a relative one as a file: address, which can carry options.
  return { dialect: "sqlite", file: resolve(path) };
}

/** Throws unless the path is an existing file. */
export function checkFile(file: string): void {
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) throw new BadAddress(`${file}: no such file`);
}

/**
 * Throws unless a file starts with the SQLite header, or is empty. Never call it in a process that has the file open
 * with SQLite: closing any descriptor of a file releases all locks of the process on it.
 */
export function checkHeader(file: string): void {
  checkFile(file);
  const begin = Buffer.alloc(header.length);
  const handle = openSync(file, "r");
  try {
    const length = readSync(handle, begin, 0, begin.length, 0);
    if (length > 0 && begin.toString("latin1") !== header) throw new BadAddress(`${file} is not an SQLite database`);
  } finally {
    closeSync(handle);
  }
}
