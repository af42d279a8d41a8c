// @ts-check
// The ways in which a client gets a token.

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
/** @param {string} url @param {string} file where tokens are stored, readable by its owner only */
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

/** @param {string} url @param {ReturnType<typeof oauth>} auth @param {(page: string) => void} redirectTo */
export async function listFor(url, auth, redirectTo) {
  try {
    const client = await connect(url, { auth });
    return await client.callTool("list");
  } catch (error) {
    const reason = error instanceof Error ? (error.cause ?? error) : error;
    if (!(reason instanceof LoginRequired)) throw error;
    redirectTo(reason.authorizationUrl);
    return undefined;
  }
}

/** @param {ReturnType<typeof oauth>} auth @param {string} address the callback address, with its query */
export const finishSignIn = (auth, address) => auth.finish(address);
// endregion

// region machine
/** @param {string} privateKey PKCS #8, as PEM */
export const asItself = (privateKey) => oauth({ grant: clientCredentials({ clientId: "nightly-job", privateKey }) });

/** @param {() => Promise<string>} assertion the token that the platform issues to this workload */
export const asWorkload = (assertion) => oauth({ grant: workloadIdentity({ clientId: "nightly-job", assertion }) });

/** @param {string} sso issuer of the company's sign-in @param {() => Promise<string>} idToken from that sign-in */
export const asEmployee = (sso, idToken) =>
  oauth({
    grant: enterpriseManaged({
      clientId: "notes-app",
      identityProvider: { issuer: sso, clientId: "desktop", idToken },
    }),
  });
// endregion
