/** One person who is always signed in and allows everything. */
export interface DevelopmentSignIn {
  readonly kind: "development";
  readonly subject: string;
}

/** Approves whatever is asked without a page: for development and tests, refused unless the issuer is on loopback. */
export function developmentUser(subject: string): DevelopmentSignIn {
  return { kind: "development", subject };
}
