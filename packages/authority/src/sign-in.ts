import type { DevelopmentSignIn } from "./development.ts";
import type { UpstreamSignIn } from "./upstream/options.ts";

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
