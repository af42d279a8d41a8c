import type { RequestId } from "portolan";
import { schemasMissing } from "../../../kit/official-schema.ts";
import { metaKey } from "../../../kit/raw-peer.ts";
import type { RevisionDate } from "../../../kit/revisions.ts";
import { problemsWith } from "../../../kit/valid.ts";
import type { Sent } from "./scripted-server.ts";

if (schemasMissing) console.log(`Messages of clients are not checked against the official schemas: ${schemasMissing}`);

/** Returns the problems of a client's messages in a revision: invalid messages, and members that the revision lacks. */
export function problemsOf(
  sent: readonly Sent[],
  revision: RevisionDate,
  asked: ReadonlyMap<RequestId, string>,
  isExpected: (problem: string) => boolean,
): string[] {
  if (schemasMissing) return [];
  return sent
    .flatMap((message) => problemsWith(message, revisionOf(message) ?? revision, aboutOf(message, asked)))
    .filter((problem) => !isExpected(problem));
}

/** The revision that a request names for itself. */
function revisionOf({ method, params }: Sent): RevisionDate | undefined {
  return method === "initialize" ? params.protocolVersion : params?._meta?.[metaKey("protocolVersion")];
}

/** The method of a request, or of the request that a response answers. */
function aboutOf({ id, method, error, result }: Sent, asked: ReadonlyMap<RequestId, string>): string | undefined {
  const about = method ?? asked.get(id ?? "");
  if (about !== undefined || error) return about;
  throw new Error(`the client sent a response without a request: ${JSON.stringify({ id, result })}`);
}
