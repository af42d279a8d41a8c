import { closeSync, openSync, readSync, statSync } from "node:fs";
import { resolve } from "node:path";

/** Where a database is. */
export type Address =
  | { readonly dialect: "sqlite"; readonly file: string }
  | { readonly dialect: "postgresql"; readonly url: string };

/** A database that cannot be meant; its text has no secrets. */
export class BadAddress extends Error {
  override readonly name = "BadAddress";
}

const header = "SQLite format 3\0";

/** Reads `sqlite:<path>`, a path, or `postgres://…`. What is wrong is said without what was given: it may hold a password. */
export function readAddress(text: string): Address {
  if (/^postgres(ql)?:/i.test(text)) {
    // A user without a host is no address elsewhere, but here: the host is a parameter, or the one of the environment.
    if (!URL.canParse(text.replace(/^(\w+:\/\/[^/?#]*@)(?=[/?])/, "$1host"))) {
      throw new BadAddress("expected such as postgres://user@host:5432/name, got no address");
    }
    return { dialect: "postgresql", url: text };
  }
  const [, scheme] = /^([a-z][a-z0-9+.-]+):/i.exec(text) ?? [];
  if (scheme !== undefined && scheme.toLowerCase() !== "sqlite") {
    throw new BadAddress(`expected sqlite:<path>, a path or postgres://…, got an address that begins with ${scheme}:`);
  }
  const path = text.replace(/^sqlite:(\/\/(?=\/))?/i, "");
  if (path === "" || path === ":memory:") throw new BadAddress("expected the path of a file with an SQLite database");
  // An absolute path is never taken for one of SQLite's file: addresses, which have options.
  return { dialect: "sqlite", file: resolve(path) };
}

/** Throws unless a file is there. */
export function checkFile(file: string): void {
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) throw new BadAddress(`${file}: there is no such file`);
}

/**
 * Throws unless a file begins as an SQLite database does, or is empty. Not for a process that has the file open with
 * SQLite: closing any descriptor of a file gives up all locks that the process has on it.
 */
export function checkHeader(file: string): void {
  checkFile(file);
  const begin = Buffer.alloc(header.length);
  const handle = openSync(file, "r");
  try {
    const length = readSync(handle, begin, 0, begin.length, 0);
    if (length > 0 && begin.toString("latin1") !== header) throw new BadAddress(`${file} is no SQLite database`);
  } finally {
    closeSync(handle);
  }
}
