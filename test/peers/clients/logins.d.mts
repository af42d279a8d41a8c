import type { Data } from "./peer.d.mts";

/** What a client of the official SDK logs in with. */
export interface Login {
  auth(provider: object, options: { serverUrl: string }): Promise<string>;
  Client: new (info: object) => Data;
  Transport: new (url: URL, options: { authProvider: object }) => Data;
}

export declare const logins: { readonly [name: string]: Login };
