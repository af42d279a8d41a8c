import { at, isObject, listAt, show } from "../json.ts";
import { hasCapability } from "../probe.ts";
import { check, NotApplicable } from "../reply.ts";
import type { RevisionDate } from "../revisions.ts";
import { lastStateful, type Scenario, type ScenarioContext } from "../scenario.ts";

type Since = { readonly [member: string]: RevisionDate };

const described: Since = { title: "2025-06-18", _meta: "2025-06-18", icons: "2025-11-25" };
const result: Since = {
  structuredContent: "2025-06-18",
  resultType: "2026-07-28",
  ttlMs: "2026-07-28",
  cacheScope: "2026-07-28",
};
const tool: Since = { ...described, annotations: "2025-03-26", outputSchema: "2025-06-18", execution: "2025-11-25" };
const server: Since = { title: "2025-06-18", icons: "2025-11-25", description: "2025-11-25", websiteUrl: "2025-11-25" };
const capabilities: Since = { completions: "2025-03-26", tasks: "2025-11-25" };

/** The revision that introduced each kind of content. */
const contentTypes: Since = {
  text: "2024-11-05",
  image: "2024-11-05",
  resource: "2024-11-05",
  audio: "2025-03-26",
  resource_link: "2025-06-18",
};

/** Returns the first member of an object that the revision does not have yet. */
function tooNew(value: unknown, since: Since, { revision }: ScenarioContext): string | undefined {
  if (!isObject(value)) return undefined;
  return Object.keys(value).find((name) => (since[name] ?? "") > revision.date);
}

export const eras: readonly Scenario[] = [
  {
    id: "eras/newer-members",
    title: "a client of an older revision gets no members of newer ones",
    requirements: ["2.9", "5.6.1"],
    strength: "should",
    until: lastStateful,
    async run(context) {
      const peer = await context.shared();
      const { introduction } = context.profile;
      const places: [string, unknown, Since][] = [
        ["the handshake", introduction, result],
        ["serverInfo", introduction["serverInfo"], server],
        ["the capabilities", introduction["capabilities"], capabilities],
      ];
      for (const [capability, method, member, since] of [
        ["tools", "tools/list", "tools", tool],
        ["prompts", "prompts/list", "prompts", described],
        ["resources", "resources/list", "resources", described],
      ] as const) {
        if (!hasCapability(context.profile, capability)) continue;
        const listed = (await peer.request(method, {})).result();
        places.push(
          [method, listed, result],
          ...listAt(listed, member).map(
            (one) => [`${method}: ${at(one, "name")}`, one, since] as [string, unknown, Since],
          ),
        );
      }
      for (const [place, value, since] of places) {
        const member = tooNew(value, since, context);
        check(member === undefined, () => `looked at ${place}; got ${member}, which is of ${since[member ?? ""]}`);
      }
      return `looked at ${places.length} objects; got nothing newer than ${context.revision.date}`;
    },
  },
  {
    id: "eras/newer-results",
    title: "a result has no members of newer revisions",
    requirements: ["2.9", "G5"],
    strength: "should",
    until: lastStateful,
    needs: ["tools"],
    async run(context) {
      const reply = await (await context.shared()).call(context.tool("structured"));
      const member = tooNew(reply.result(), result, context);
      check(member === undefined, () => reply.evidence(`nothing of ${result[member ?? ""]}`));
      return reply.summary;
    },
  },
  {
    id: "eras/newer-content",
    title: "a result has no content kinds of newer revisions",
    requirements: ["2.9", "I2", "I3"],
    strength: "must",
    until: lastStateful,
    needs: ["tools"],
    async run(context) {
      const reply = await (await context.shared()).call(context.tool("media"));
      const blocks = listAt(reply.result(), "content");
      if (blocks.length === 0) throw new NotApplicable("the tool gave no content");
      const newer = blocks.find(
        (block) => (contentTypes[String(at(block, "type"))] ?? "unknown") > context.revision.date,
      );
      check(newer === undefined, () => reply.evidence(`no ${at(newer, "type")} content in ${context.revision.date}`));
      return `got content ${show(blocks.map((block) => at(block, "type")))}`;
    },
  },
];
