// The user, the browser and the storage behind an OAuth client of the official SDK, version 2.

/** The only client metadata document that the suite knows. */
const clientMetadataUrl = "https://conformance-test.local/client-metadata.json";
const redirectUrl = "http://localhost:3000/callback";

/** Creates an OAuth provider for the SDK whose user allows everything at once; `callback` has the redirect's query. */
export function createProvider({ client_id, client_secret }) {
  const clients = new Map();
  const tokens = new Map();
  const registered = client_id === undefined ? undefined : { client_id, client_secret };
  let latest;
  let verifier = "";
  let callback;
  let discovery;
  return {
    redirectUrl,
    clientMetadataUrl,
    clientMetadata: {
      client_name: "sdk-v2-conformance",
      redirect_uris: [redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
    },
    clientInformation: ({ issuer } = {}) => clients.get(issuer) ?? registered,
    saveClientInformation: (information, { issuer } = {}) => void clients.set(issuer, information),
    tokens: (about) => (about === undefined ? latest : tokens.get(about.issuer)),
    saveTokens(saved, { issuer } = {}) {
      tokens.set(issuer, saved);
      latest = saved;
      // Kept only during one authorization: next time the server may name another issuer.
      discovery = undefined;
    },
    saveCodeVerifier(saved) {
      verifier = saved;
    },
    codeVerifier: () => verifier,
    saveDiscoveryState(state) {
      discovery = state;
    },
    discoveryState: () => discovery,
    async redirectToAuthorization(address) {
      const { headers } = await fetch(address, { redirect: "manual" });
      callback = new URL(headers.get("location") ?? "", redirectUrl).searchParams;
    },
    callback: () => callback,
  };
}
