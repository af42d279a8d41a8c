import type { Data } from "./peer.d.mts";

/** The parts of an official SDK that a client needs to sign in. */
export interface Login {
  auth(provider: object, options: { serverUrl: string }): Promise<string>;
  Client: new (info: object) => Data;
  Transport: new (url: URL, options: { authProvider: object }) => Data;
}

export declare const logins: { readonly [name: string]: Login };
