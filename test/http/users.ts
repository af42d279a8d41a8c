import type { Verifier } from "portolan/server/http";

/** Authenticates every request that has an `authorization` header; its value is the principal. */
export const byUser: Verifier = (request) => {
  const key = request.header("authorization");
  if (key !== undefined) return { key };
  return { status: 401, why: "Who are you?", headers: { "www-authenticate": "Bearer" } };
};
