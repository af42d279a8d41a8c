/** What an operator may want to keep: who was let in, what was given, what was tried. Nothing in it is secret. */
export type AuthorityEvent =
  | { readonly type: "signed-in"; readonly subject: string; readonly clientId: string }
  | { readonly type: "sign-in-failed"; readonly reason: "credentials" | "limit" | "upstream"; readonly address: string }
  | {
      readonly type: "allowed" | "denied";
      readonly subject?: string;
      readonly clientId: string;
      readonly scope: string;
    }
  | { readonly type: "client-registered"; readonly clientId: string; readonly address: string }
  | { readonly type: "token-issued" | "token-refreshed"; readonly subject: string; readonly clientId: string }
  /** A code or refresh token came twice: what it had given is revoked. */
  | { readonly type: "replayed"; readonly what: "code" | "refresh-token"; readonly clientId: string }
  | { readonly type: "revoked"; readonly subject?: string; readonly clientId?: string }
  /** The other provider no longer stands behind a grant of ours. */
  | { readonly type: "upstream-ended"; readonly subject: string; readonly clientId: string };
