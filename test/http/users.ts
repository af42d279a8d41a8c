import type { Verifier } from "portolan/server/http";

/** Lets in whoever gives a name. */
export const byUser: Verifier = (request) => {
  const key = request.header("authorization");
  if (key !== undefined) return { key };
  return { status: 401, why: "Who are you?", headers: { "www-authenticate": "Bearer" } };
};
