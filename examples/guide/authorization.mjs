// @ts-check
// The ways a client gets a token.

import {
  clientCredentials,
  deferred,
  enterpriseManaged,
  fileStore,
  LoginRequired,
  loopback,
  oauth,
  paste,
  storeIn,
  workloadIdentity,
} from "portolan/auth/client";
import { connect } from "portolan/client";

// region connect
/** @param {string} url @param {string} file only its owner can read it */
export async function useNotes(url, file) {
  const auth = oauth({ clientName: "Notes in the terminal", redirect: loopback(), store: fileStore(file) });
  const client = await connect(url, { auth });
  const { content } = await client.callTool("list");
  await client.close();
  return content;
}
// endregion

// region paste
export const withoutBrowser = oauth({ redirect: paste() });
// endregion

// region known
/** @param {string} clientSecret */
export const known = (clientSecret) =>
  oauth({
    redirect: loopback({ port: 8765, path: "/callback" }),
    client: { issuer: "https://login.example.com", clientId: "notes-app", clientSecret },
  });
// endregion

// region deferred
/** @param {import("portolan/storage").Storage} storage @param {string} user */
export const forUser = (storage, user) =>
  oauth({ redirect: deferred("https://app.example.com/callback"), store: storeIn(storage), account: user });

/** @param {string} url @param {ReturnType<typeof oauth>} auth @param {(page: string) => void} sendTo */
export async function listFor(url, auth, sendTo) {
  try {
    const client = await connect(url, { auth });
    return await client.callTool("list");
  } catch (error) {
    const reason = error instanceof Error ? (error.cause ?? error) : error;
    if (!(reason instanceof LoginRequired)) throw error;
    sendTo(reason.authorizationUrl);
    return undefined;
  }
}

/** @param {ReturnType<typeof oauth>} auth @param {string} address where the person came back, with its query */
export const cameBack = (auth, address) => auth.finish(address);
// endregion

// region machine
/** @param {string} privateKey PKCS #8, as PEM */
export const asItself = (privateKey) => oauth({ grant: clientCredentials({ clientId: "nightly-job", privateKey }) });

/** @param {() => Promise<string>} assertion the token that the platform gives to this workload */
export const asWorkload = (assertion) => oauth({ grant: workloadIdentity({ clientId: "nightly-job", assertion }) });

/** @param {string} sso where the person has signed in @param {() => Promise<string>} idToken what shows that */
export const asEmployee = (sso, idToken) =>
  oauth({
    grant: enterpriseManaged({
      clientId: "notes-app",
      identityProvider: { issuer: sso, clientId: "desktop", idToken },
    }),
  });
// endregion
