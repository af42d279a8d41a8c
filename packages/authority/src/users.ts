import { readFile, stat } from "node:fs/promises";
import { PortolanError } from "portolan";
import { isHash, isPassword } from "./passwords.ts";
import type { UpstreamSignIn } from "./upstream/options.ts";

interface User {
  readonly name: string;
  readonly password: string;
  readonly id?: string;
  readonly displayName?: string;
}

/**
 * People in a JSON file: `{ "users": [{ "name": "ada", "password": "<of hashPassword>" }] }`, with an `id` for tokens
 * and a `displayName` for pages where they differ from the name. A change counts from the next look on.
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
    const what = `${path}: user ${index + 1}: expected a name and a password as hashPassword() gives it`;
    throw new PortolanError("invalid-argument", what);
  }
  return users as User[];
}

/** Somebody who can sign in. */
export interface Person {
  /** What tokens call them; never given to somebody else. */
  readonly subject: string;
  /** What pages call them. */
  readonly name: string;
}

/** People who show themselves by a name and a password; `usersIn` keeps them in a file. */
export interface PasswordSignIn {
  readonly kind: "passwords";
  /** Takes as long for an unknown name as for a wrong password. */
  verify(name: string, password: string): Promise<Person | undefined>;
  /** Whether a person is still there; their tokens are not renewed when they are not. */
  find(subject: string): Promise<Person | undefined>;
}

/** How people show who they are. */
export type SignIn = PasswordSignIn | UpstreamSignIn | DevelopmentSignIn;

/** One person who is always signed in and allows everything. */
export interface DevelopmentSignIn {
  readonly kind: "development";
  readonly subject: string;
}

/** Approves whatever is asked without a page: for development and tests, refused unless the issuer is on loopback. */
export function developmentUser(subject: string): DevelopmentSignIn {
  return { kind: "development", subject };
}
