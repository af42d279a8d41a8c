import { serveHttp } from "portolan/server/http";
import { describe, expect, onTestFinished, test } from "vitest";
import { RawPeer } from "../../kit/raw-peer.ts";
import type { RevisionDate } from "../../kit/revisions.ts";
import { type Open, type Requirement, scopeOf } from "../../requirements/requirement.ts";
import { sections } from "../../requirements/sections/index.ts";
import { HttpChannel } from "../channel.ts";
import { exceptions } from "./exceptions.ts";

const fullServer = new URL("../../kit/full-server.mjs", import.meta.url);
const isOverChannels = (requirement: Requirement) => scopeOf(requirement).over.includes("memory");

/** Serves the default export of a module over HTTP and connects to it. */
function opener(revision: RevisionDate): Open {
  return async ({ server = fullServer, ...options } = {}) => {
    const { default: exported } = await import(server.href);
    // Anonymous callers have no list of tasks, so those of the tests have a name.
    const serving = serveHttp(
      typeof exported === "function" ? exported() : exported,
      server.pathname.endsWith("/tasks.mjs") ? { verify: () => ({ key: "ada" }) } : {},
    );
    const { url } = await serving.listen(0);
    const peer = new RawPeer(new HttpChannel(url), { revision, ...options });
    onTestFinished(async () => {
      await peer.close();
      await serving.close(0);
    });
    return peer.start();
  };
}

function isException({ row, says }: Requirement, revision: RevisionDate): boolean {
  return exceptions.some((entry) => entry.row === row && entry.says === says && entry.on.includes(revision));
}

describe.each(Object.entries(sections))("%s over HTTP", (_, requirements) => {
  for (const requirement of requirements.filter(isOverChannels)) {
    for (const revision of scopeOf(requirement).on) {
      if (isException(requirement, revision)) continue;
      test(`${requirement.row}: ${requirement.says} (${revision})`, () =>
        requirement.test(opener(revision), { revision, transport: "memory" }));
    }
  }
});

test("every exception names an existing requirement and revision", () => {
  const known = Object.values(sections)
    .flat()
    .filter(isOverChannels)
    .map((requirement) => ({ name: `${requirement.row}: ${requirement.says}`, on: scopeOf(requirement).on }));
  const stale = exceptions.filter(
    ({ row, says, on }) =>
      !known.some((one) => one.name === `${row}: ${says}` && on.every((date) => one.on.includes(date))),
  );
  expect(stale).toEqual([]);
});
