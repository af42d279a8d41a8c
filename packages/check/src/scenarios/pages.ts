import { at, isSame, show } from "../json.ts";
import { hasCapability } from "../probe.ts";
import { check, NotApplicable } from "../reply.ts";
import type { Scenario, ScenarioContext } from "../scenario.ts";

interface Listed {
  readonly method: string;
  readonly member: string;
  readonly key: string;
}

const all: readonly (Listed & { readonly capability: string })[] = [
  { capability: "tools", method: "tools/list", member: "tools", key: "name" },
  { capability: "prompts", method: "prompts/list", member: "prompts", key: "name" },
  { capability: "resources", method: "resources/list", member: "resources", key: "uri" },
  { capability: "resources", method: "resources/templates/list", member: "resourceTemplates", key: "uriTemplate" },
];

function listsOf({ profile }: ScenarioContext): readonly Listed[] {
  const offered = all.filter(({ capability }) => hasCapability(profile, capability));
  if (offered.length === 0) throw new NotApplicable("the server announces nothing that has a list");
  return offered;
}

export const pages: readonly Scenario[] = [
  {
    id: "pages/complete",
    title: "the pages of a list are disjoint and finite, and the same the second time",
    requirements: ["J1"],
    strength: "must",
    async run(context) {
      const peer = await context.shared();
      const seen: string[] = [];
      for (const { method, member, key } of listsOf(context)) {
        const { entries, pages } = await peer.list(method, member);
        const names = entries.map((entry) => at(entry, key));
        const twice = names.find((name, index) => names.indexOf(name) !== index);
        check(twice === undefined, () => `walked ${method}; got ${show(twice)} twice; expected each once`);
        const again = (await peer.list(method, member)).entries.map((entry) => at(entry, key));
        check(
          isSame(names, again),
          () => `walked ${method} twice; got ${show(names)} and ${show(again)}; expected the same`,
        );
        seen.push(`${names.length} of ${method} on ${pages.length} pages`);
      }
      return `walked all lists; got ${seen.join(", ")}`;
    },
  },
  {
    id: "pages/bad-cursor",
    title: "an unknown cursor is refused with -32602",
    requirements: ["J1"],
    strength: "should",
    async run(context) {
      const peer = await context.shared();
      for (const { method } of listsOf(context)) {
        (await peer.request(method, { cursor: "portolan-no-such-cursor" })).error(-32602);
      }
      return "sent a made-up cursor to each list; got error -32602";
    },
  },
  {
    id: "pages/cursor-again",
    title: "a cursor may be used again",
    requirements: ["J1"],
    strength: "should",
    async run(context) {
      const peer = await context.shared();
      for (const { method, member } of listsOf(context)) {
        const cursor = (await peer.request(method, {})).result()["nextCursor"];
        if (cursor === undefined) continue;
        const [one, other] = [await peer.request(method, { cursor }), await peer.request(method, { cursor })];
        const isEqual = isSame(one.result()[member], other.result()[member]);
        check(isEqual, () => other.evidence("the same page as before"));
        return `sent one cursor of ${method} twice; got the same page`;
      }
      throw new NotApplicable("no list of the server has a second page");
    },
  },
];
