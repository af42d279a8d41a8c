import { readFile, stat } from "node:fs/promises";
import { PortolanError } from "portolan";
import { isHash, isPassword } from "./passwords.ts";
import type { PasswordSignIn, Person } from "./sign-in.ts";

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
