import type { RpcRequest } from "../../jsonrpc/message.ts";
import { missingMeta, unsupportedVersion } from "../errors.ts";
import type { Revision } from "../revision.ts";
import { deriveRevisions, metaKeys, metaOf } from "../revision.ts";
import { first } from "./2024-11-05.ts";
import { batchesAndAudio } from "./2025-03-26.ts";
import { structuredOutput } from "./2025-06-18.ts";
import { iconsAndUrls } from "./2025-11-25.ts";
import { stateless } from "./2026-07-28.ts";

/** All revisions, newest first. This is the only list of them. */
export const revisions: readonly Revision[] = deriveRevisions(
  first,
  batchesAndAudio,
  structuredOutput,
  iconsAndUrls,
  stateless,
).reverse();

/** The stateful revisions, newest first. */
export const statefulRevisions: readonly Revision[] = revisions.filter((revision) => revision.era === "stateful");

/** The stateless revisions, newest first. */
export const statelessRevisions: readonly Revision[] = revisions.filter((revision) => revision.era === "stateless");

/** The versions of the stateless revisions, newest first. */
export const statelessVersions: readonly string[] = statelessRevisions.map((revision) => revision.version);

/** Returns the revision that a request names in its `_meta`. Undefined if it names none: then it belongs to a handshake. */
export function revisionOf(request: RpcRequest): Revision | undefined {
  const version = metaOf(request.params)?.[metaKeys.protocolVersion];
  if (version === undefined) return undefined;
  if (typeof version !== "string") throw missingMeta(`_meta["${metaKeys.protocolVersion}"]: expected a string`);
  for (const revision of statelessRevisions) if (revision.version === version) return revision;
  throw unsupportedVersion(version, statelessVersions);
}

/** Returns the revision for a handshake: the requested one if it is known and stateful, else the newest stateful one. */
export function chooseStatefulRevision(requested: unknown): Revision {
  const [newest] = statefulRevisions;
  const found = statefulRevisions.find((revision) => revision.version === requested) ?? newest;
  if (!found) throw unsupportedVersion(requested, statelessVersions);
  return found;
}
