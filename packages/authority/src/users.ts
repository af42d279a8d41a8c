import { readFile, stat } from "node:fs/promises";
import { PortolanError } from "portolan";
import { isHash, isPassword } from "./passwords.ts";
import type { UpstreamSignIn } from "./upstream/options.ts";

/** A person who can sign in. */
export interface Person {
  /** The subject of their tokens; never reused for another person. */
  readonly subject: string;
  /** The name on pages. */
  readonly name: string;
}

/** Sign-in by name and password; `usersIn` reads them from a file. */
export interface PasswordSignIn {
  readonly kind: "passwords";
  /** Takes equally long for an unknown name and for a wrong password. */
  verify(name: string, password: string): Promise<Person | undefined>;
  /** Resolves to `undefined` if the person no longer exists; their tokens are then not renewed. */
  find(subject: string): Promise<Person | undefined>;
}

/** How people sign in. */
export type SignIn = PasswordSignIn | UpstreamSignIn | DevelopmentSignIn;

/** One user who is always signed in and allows everything. */
export interface DevelopmentSignIn {
  readonly kind: "development";
  readonly subject: string;
}

/** Approves every request without a page. For development and tests only: it requires an issuer on loopback. */
export function developmentUser(subject: string): DevelopmentSignIn {
  return { kind: "development", subject };
}

interface User {
  readonly name: string;
  readonly password: string;
  readonly id?: string;
  readonly displayName?: string;
}

/**
 * Reads users from a JSON file: `{ "users": [{ "name": "ada", "password": "<of hashPassword>" }] }`, with an `id` for
 * tokens and a `displayName` for pages where they differ from the name. Changes take effect without a restart.
 */
export function usersIn(path: string): PasswordSignIn {
  let known: { readonly users: readonly User[]; readonly changedAt: number } | undefined;

  async function read(): Promise<readonly User[]> {
    const { mtimeMs } = await stat(path);
    if (known?.changedAt !== mtimeMs) known = { users: parse(await readFile(path, "utf8"), path), changedAt: mtimeMs };
    return known.users;
  }

  return {
    kind: "passwords",
    async verify(name, password) {
      const user = (await read()).find((one) => one.name === name);
      const isRight = await isPassword(password, user?.password);
      return user && isRight ? toPerson(user) : undefined;
    },
    async find(subject) {
      const user = (await read()).find((one) => (one.id ?? one.name) === subject);
      return user && toPerson(user);
    },
  };
}

function toPerson({ name, id = name, displayName = name }: User): Person {
  return { subject: id, name: displayName };
}

function parse(text: string, path: string): readonly User[] {
  const { users } = JSON.parse(text) as { users?: unknown };
  if (!Array.isArray(users)) throw new PortolanError("invalid-argument", `${path}: expected a list of "users"`);
  for (const [index, user] of (users as User[]).entries()) {
    if (typeof user?.name === "string" && user.name !== "" && isHash(user.password)) continue;
    const what = `${path}: user ${index + 1}: expected a name and a password as hashPassword() returns it`;
    throw new PortolanError("invalid-argument", what);
  }
  return users as User[];
}
